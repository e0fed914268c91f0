import { verify as verifyBytes } from "node:crypto";
import fc from "fast-check";
import { Webhook, WebhookVerificationError as TheirError } from "standardwebhooks";
import { describe, expect, it } from "vitest";
import { generateWebhookKeyPair, generateWebhookSecret, signWebhook } from "amends/webhooks";
import { verifyWebhook } from "amends/webhooks/receive";
import { readSecret } from "../../../src/webhooks/http/secret.ts";
import { anyText } from "../../support/any-text.ts";

/** The vector that the reference implementation publishes in its tests. */
const VECTOR = {
  secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
  id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
};

const secrets = fc
  .uint8Array({ minLength: 24, maxLength: 64 })
  .map((bytes) => `whsec_${Buffer.from(bytes).toString("base64")}`);
const ids = fc.stringMatching(/^[\w-]{1,40}$/);

describe("signatures", () => {
  it("[W-16] give the signature of the published vector, as the reference implementation does", async () => {
    const { secret, id, timestamp, body, signature } = VECTOR;
    expect(signWebhook({ id, timestamp, body }, secret)).toEqual({
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signature,
    });
    expect(new Webhook(secret).sign(id, new Date(timestamp * 1_000), body)).toBe(signature);
    const headers = {
      "webhook-id": id,
      "webhook-timestamp": String(timestamp),
      "webhook-signature": signature,
    };
    expect(await verifyWebhook(headers, body, secret, { now: new Date(timestamp * 1_000) })).toMatchObject({
      id: id,
    });
  });

  it("[W-16] of ours are verified by the reference implementation, for any body", () => {
    fc.assert(
      fc.property(secrets, secrets, ids, fc.json(), (secret, other, id, body) => {
        const timestamp = Math.floor(Date.now() / 1_000);
        const headers = signWebhook({ id, timestamp, body: Buffer.from(body) }, [other, secret]);
        const theirs = new Webhook(secret).verify(body, { ...headers });
        expect(theirs).toEqual(JSON.parse(body));
        expect(() => new Webhook(secret).verify(`${body} `, { ...headers })).toThrow(TheirError);
      }),
    );
  });

  it("[W-16] of the reference implementation are verified by ours, for any body", async () => {
    await fc.assert(
      fc.asyncProperty(secrets, ids, anyText(), async (secret, id, body) => {
        const now = new Date(1_900_000_000_000);
        const signature = new Webhook(secret).sign(id, now, body);
        const headers = {
          "webhook-id": id,
          "webhook-timestamp": "1900000000",
          "webhook-signature": signature,
        };
        expect(await verifyWebhook(headers, body, secret, { now })).toEqual({ id, sentAt: now });
        expect(await verifyWebhook(new Headers(headers), Buffer.from(body), [secret], { now })).toMatchObject(
          { id: id },
        );
      }),
    );
  });

  it("[W-16] cover bytes that are no text", async () => {
    await fc.assert(
      fc.asyncProperty(secrets, ids, fc.uint8Array(), fc.nat(), async (secret, id, body, at) => {
        const headers = { ...signWebhook({ id, timestamp: 1_900_000_000, body }, secret) };
        const options = { now: new Date(1_900_000_000_000) };
        expect(await verifyWebhook(headers, body, secret, options)).toMatchObject({ id: id });
        if (body.length === 0) return;
        const changed = Uint8Array.from(body);
        changed[at % body.length] = (changed[at % body.length] ?? 0) ^ 1;
        await expect(verifyWebhook(headers, changed, secret, options)).rejects.toThrow("no signature fits");
      }),
    );
  });

  it("[W-16] v1a signs with Ed25519 beside v1, and each receiver verifies with what it has", async () => {
    const { privateKey, publicKey } = generateWebhookKeyPair();
    const shared = generateWebhookSecret();
    const message = { id: "msg_1", timestamp: 1_900_000_000, body: Buffer.from([1, 2, 3]) };
    const headers = { ...signWebhook(message, [privateKey, shared]) };
    expect(headers["webhook-signature"]).toMatch(/^v1a,\S{88} v1,\S{44}$/);
    const options = { now: new Date(1_900_000_000_000) };
    for (const secret of [publicKey, shared, [generateWebhookSecret(), publicKey]]) {
      expect(await verifyWebhook(headers, message.body, secret, options)).toMatchObject({ id: "msg_1" });
    }
    const other = generateWebhookKeyPair().publicKey;
    await expect(verifyWebhook(headers, message.body, other, options)).rejects.toThrow("no signature fits");
    // The signed text, written out: the platform alone agrees.
    const [, text = ""] = /v1a,(\S+)/.exec(headers["webhook-signature"]) ?? [];
    const key = readSecret(publicKey, "key");
    if (key.kind !== "public") throw new Error("not a public key");
    const signed = Buffer.concat([Buffer.from("msg_1.1900000000."), message.body]);
    expect(verifyBytes(null, signed, key.key, Buffer.from(text, "base64"))).toBe(true);
  });

  it("[W-16] v1a takes a private key as its seed alone, too, and gives the same signature", () => {
    const { privateKey } = generateWebhookKeyPair();
    const seed = `whsk_${Buffer.from(privateKey.slice(5), "base64").subarray(0, 32).toString("base64")}`;
    const message = { id: "m", timestamp: 1, body: "x" };
    expect(signWebhook(message, seed)).toEqual(signWebhook(message, privateKey));
  });

  it.each<[string, string]>([
    ["no prefix", Buffer.alloc(32).toString("base64")],
    ["another prefix", `whsig_${Buffer.alloc(32).toString("base64")}`],
    ["too short a secret", `whsec_${Buffer.alloc(23).toString("base64")}`],
    ["too long a secret", `whsec_${Buffer.alloc(257).toString("base64")}`],
    ["an empty secret", "whsec_"],
    ["what is not base64", `whsec_${"*".repeat(44)}`],
    ["a line break", `whsec_${Buffer.alloc(32).toString("base64")}\n`],
    ["a space inside", `whsec_${"A".repeat(20)} ${"A".repeat(20)}`],
    ["base64 of the other alphabet", `whsec_${"-_".repeat(16)}`],
    ["a private key of the wrong size", `whsk_${Buffer.alloc(31).toString("base64")}`],
    ["halves of two keys", `whsk_${Buffer.alloc(64, 1).toString("base64")}`],
    ["a public key to sign with", generateWebhookKeyPair().publicKey],
  ])("[W-16] refuses %s, and does not repeat it", (_what, secret) => {
    const error = thrownBy(() => signWebhook({ id: "m", timestamp: 1, body: "x" }, secret));
    expect(error).toMatchObject({ name: "AmendsError", code: "BAD_SECRET" });
    expect((error as Error).message).not.toContain(secret.slice(7, 20) || "whsec_,");
  });

  it("[W-16] refuses to sign without a secret, under an id with a dot, or at no time", () => {
    const message = { id: "m", timestamp: 1, body: "x" };
    const secret = generateWebhookSecret();
    expect(() => signWebhook(message, [])).toThrow(expect.objectContaining({ code: "BAD_SECRET" }) as Error);
    expect(() => signWebhook({ ...message, id: "a.b" }, secret)).toThrow(
      expect.objectContaining({ code: "BAD_ID" }) as Error,
    );
    for (const timestamp of [NaN, -1, 1.5, Infinity]) {
      expect(() => signWebhook({ ...message, timestamp }, secret)).toThrow(
        expect.objectContaining({ code: "BAD_INPUT" }) as Error,
      );
    }
  });

  it("[W-16] secrets that are made are long enough, and no two are the same", () => {
    const made = Array.from({ length: 100 }, generateWebhookSecret);
    expect(new Set(made).size).toBe(100);
    for (const secret of made) expect(Buffer.from(secret.slice(6), "base64").length).toBe(32);
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    call();
  } catch (error) {
    return error;
  }
  return undefined;
}
