import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { generateWebhookKeyPair, generateWebhookSecret, signWebhook } from "amends/webhooks";
import { verifyWebhook, WebhookVerificationError } from "amends/webhooks/receive";

const SECRET = generateWebhookSecret();
const SENT = 1_900_000_000;
const NOW = new Date(SENT * 1_000);
const BODY = '{"type":"order.placed"}';
const HEADERS: Readonly<Record<string, string>> = {
  ...signWebhook({ id: "msg_1", timestamp: SENT, body: BODY }, SECRET),
};
const SIGNATURE = HEADERS["webhook-signature"] ?? "";

async function reason(
  headers: Parameters<typeof verifyWebhook>[0],
  now: Date = NOW,
  secret: string | readonly string[] = SECRET,
): Promise<string> {
  try {
    await verifyWebhook(headers, BODY, secret, { now });
    return "verified";
  } catch (error) {
    if (error instanceof WebhookVerificationError && error.code === "WEBHOOK_REFUSED") return error.reason;
    throw error;
  }
}

const withSignature = (signature: string): Record<string, string> => ({
  ...HEADERS,
  "webhook-signature": signature,
});

describe("verifying", () => {
  it("[W-16] takes headers as Node, as fetch and as a plain object give them, in any case", async () => {
    const upper = Object.fromEntries(
      Object.entries(HEADERS).map(([name, value]) => [name.toUpperCase(), value]),
    );
    for (const headers of [HEADERS, new Headers(HEADERS), upper, new Map(Object.entries(HEADERS)) as never]) {
      expect(await verifyWebhook(headers, BODY, SECRET, { now: NOW })).toEqual({ id: "msg_1", sentAt: NOW });
    }
  });

  it("[W-16] refuses every truncation of a signature, and every change of one character", async () => {
    for (let length = 0; length < SIGNATURE.length; length++) {
      expect([length, await reason(withSignature(SIGNATURE.slice(0, length)))]).not.toEqual([
        length,
        "verified",
      ]);
      const other = SIGNATURE[length] === "A" ? "B" : "A";
      const changed = SIGNATURE.slice(0, length) + other + SIGNATURE.slice(length + 1);
      expect([length, await reason(withSignature(changed))]).not.toEqual([length, "verified"]);
    }
    for (const longer of [
      `${SIGNATURE}=`,
      `${SIGNATURE}A`,
      SIGNATURE.replace("v1,", "v1, "),
      SIGNATURE.replace("=", ""),
    ]) {
      expect(await reason(withSignature(longer))).not.toBe("verified");
    }
  });

  it("[W-16] refuses every truncation of an Ed25519 signature", async () => {
    const { privateKey, publicKey } = generateWebhookKeyPair();
    const signed = signWebhook({ id: "msg_1", timestamp: SENT, body: BODY }, privateKey)["webhook-signature"];
    expect(await reason(withSignature(signed), NOW, publicKey)).toBe("verified");
    for (let length = 0; length < signed.length; length++) {
      expect([length, await reason(withSignature(signed.slice(0, length)), NOW, publicKey)]).not.toEqual([
        length,
        "verified",
      ]);
    }
  });

  it("[W-16] is not moved by anything random", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.base64String().map((text) => `v1,${text}`),
        ),
        async (text) => {
          fc.pre(text !== SIGNATURE);
          expect(await reason(withSignature(text))).not.toBe("verified");
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("[W-16] finds the right one among several, and passes over versions it does not know", async () => {
    const other = signWebhook({ id: "msg_1", timestamp: SENT, body: BODY }, generateWebhookSecret())[
      "webhook-signature"
    ];
    expect(await reason(withSignature(`${other} v9,xyz ${SIGNATURE}`))).toBe("verified");
    expect(await reason(withSignature(`${other} v9,xyz`))).toBe("bad_signature");
    expect(await reason(withSignature(SIGNATURE.replace("v1,", "v2,")))).toBe("unknown_version");
    expect(await reason(withSignature(SIGNATURE.replace("v1,", "v1a,")))).toBe("unknown_version");
    expect(await reason(HEADERS, NOW, generateWebhookKeyPair().publicKey)).toBe("unknown_version");
    expect(await reason(HEADERS, NOW, [generateWebhookSecret(), SECRET])).toBe("verified");
    expect(await reason(HEADERS, NOW, generateWebhookSecret())).toBe("bad_signature");
  });

  it("[W-16] a shared secret's text is no key for the other kind: v1 and v1a cannot be confused", async () => {
    const { publicKey } = generateWebhookKeyPair();
    const asShared = `whsec_${publicKey.slice(5)}`;
    const forged = signWebhook({ id: "msg_1", timestamp: SENT, body: BODY }, asShared)["webhook-signature"];
    expect(await reason(withSignature(forged), NOW, publicKey)).toBe("unknown_version");
    expect(await reason(withSignature(forged.replace("v1,", "v1a,")), NOW, publicKey)).toBe("bad_signature");
  });

  it("[W-16] refuses what is older or newer than the tolerance, to the millisecond", async () => {
    const at = (ms: number): Date => new Date(SENT * 1_000 + ms);
    expect([await reason(HEADERS, at(300_000)), await reason(HEADERS, at(300_001))]).toEqual([
      "verified",
      "too_old",
    ]);
    expect([await reason(HEADERS, at(-300_000)), await reason(HEADERS, at(-300_001))]).toEqual([
      "verified",
      "too_new",
    ]);
    expect(await reason(HEADERS, new Date(NaN))).toBe("too_old");
    expect(await verifyWebhook(HEADERS, BODY, SECRET, { now: at(3_600_000), tolerance: "1h" })).toMatchObject(
      { id: "msg_1" },
    );
    await expect(verifyWebhook(HEADERS, BODY, SECRET, { now: NOW, tolerance: 0 })).rejects.toThrow(
      /tolerance/,
    );
  });

  it("[W-16] without a time of the test's it asks the real clock", async () => {
    const headers = signWebhook({ id: "m", timestamp: Math.floor(Date.now() / 1_000), body: BODY }, SECRET);
    expect(await verifyWebhook({ ...headers }, BODY, SECRET)).toMatchObject({ id: "m" });
    await expect(verifyWebhook(HEADERS, BODY, SECRET)).rejects.toThrow(WebhookVerificationError);
  });

  it("[W-16] id, time and body are all covered by the signature", async () => {
    expect(await reason({ ...HEADERS, "webhook-id": "msg_2" })).toBe("bad_signature");
    expect(await reason({ ...HEADERS, "webhook-timestamp": String(SENT + 1) })).toBe("bad_signature");
    await expect(verifyWebhook(HEADERS, `${BODY}\n`, SECRET, { now: NOW })).rejects.toThrow(
      WebhookVerificationError,
    );
  });

  it("[W-16] a header that is missing, doubled or malformed is refused as such", async () => {
    for (const name of Object.keys(HEADERS)) {
      for (const value of [undefined, "", ["a", "b"]]) {
        expect([name, value, await reason({ ...HEADERS, [name]: value })]).toEqual([
          name,
          value,
          "bad_headers",
        ]);
      }
      expect(await reason({ ...HEADERS, [name.toUpperCase()]: HEADERS[name] })).toBe("bad_headers");
    }
    expect(await reason({ ...HEADERS, "webhook-timestamp": "soon" })).toBe("bad_headers");
    expect(await reason({ ...HEADERS, "webhook-timestamp": `${SENT}.0` })).toBe("bad_headers");
    expect(await reason({ ...HEADERS, "webhook-id": "a.b" })).toBe("bad_headers");
  });

  it("[W-16] a mistake of the receiver's own is another error: a parsed body, no secret, the wrong half of a key", async () => {
    const call = (body: unknown, secret: unknown) =>
      verifyWebhook(HEADERS, body as string, secret as string, { now: NOW });
    await expect(call({ type: "order.placed" }, SECRET)).rejects.toMatchObject({ code: "BAD_INPUT" });
    for (const secret of ["", "secret", [], undefined, generateWebhookKeyPair().privateKey]) {
      await expect(call(BODY, secret)).rejects.toMatchObject({ code: "BAD_SECRET" });
    }
  });
});
