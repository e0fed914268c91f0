import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { virtualClock } from "amends/testing";
import { verifyWebhook } from "amends/webhooks/receive";
import { createSender, type SenderOptions } from "../../../src/webhooks/http/send.ts";
import { sharing, type Resolve } from "../../../src/webhooks/http/connector.ts";
import { bodyOf, receiver, type Receiver } from "./support/receivers.ts";
import { LOOPBACK, message, SECRET, sender, turn, until } from "./support/senders.ts";

const NEWER = `whsec_${Buffer.alloc(24, 9).toString("base64")}`;

function at({ port }: Receiver, path = "/"): string {
  return `http://127.0.0.1:${port}${path}`;
}

function answering(status: number, headers: Record<string, string> = {}, body = ""): Promise<Receiver> {
  return receiver((request, response) => {
    request.resume();
    response.writeHead(status, headers).end(body);
  });
}

describe("sending", () => {
  it("[W-16] posts the exact bytes, under the headers of Standard Webhooks", async () => {
    const seen: {
      method: string | undefined;
      url: string | undefined;
      headers: Record<string, unknown>;
      body: Buffer;
    }[] = [];
    const target = await receiver((request, response) => {
      void (async () => {
        seen.push({
          method: request.method,
          url: request.url,
          headers: request.headers,
          body: await bodyOf(request),
        });
        response.end();
      })();
    });
    const made = sender();
    const bodies = [
      Buffer.from([0, 255, 10, 13, 0xef, 0xbb, 0xbf]),
      Buffer.from('{"ä": 1.0 }\n'),
      Buffer.alloc(0),
      Buffer.alloc(300_000, 1),
    ];
    for (const [n, body] of bodies.entries()) {
      const request = message(at(target, "/a/b%20c?d=e"), {
        body,
        timestamp: 1_900_000_000 + n,
        secrets: [NEWER, SECRET],
      });
      expect(await made.send({ ...request, headers: { "X-Tenant": "t-1" } })).toMatchObject({
        ok: true,
        code: "http_200",
      });
      const got = seen[n];
      expect([got?.method, got?.url]).toEqual(["POST", "/a/b%20c?d=e"]);
      expect(got?.body.equals(body)).toBe(true);
      expect(got?.headers).toMatchObject({
        host: `127.0.0.1:${target.port}`,
        "content-type": "application/json",
        "content-length": String(body.length),
        "x-tenant": "t-1",
        "webhook-id": "msg_1",
        "webhook-timestamp": String(1_900_000_000 + n),
      });
      expect(got?.headers["accept-encoding"]).toBe(undefined);
      expect(String(got?.headers["webhook-signature"])).toMatch(/^v1,\S{44} v1,\S{44}$/);
      const now = new Date(1_900_000_000_000);
      for (const secret of [NEWER, SECRET]) {
        const verified = await verifyWebhook(got?.headers as Record<string, string>, body, secret, { now });
        expect(verified.id).toBe("msg_1");
      }
    }
  });

  it("[W-17] 2xx is success; anything else is a failure under its own label", async () => {
    const made = sender();
    for (const status of [200, 201, 202, 204, 206, 299]) {
      expect(await made.send(message(at(await answering(status))))).toMatchObject({
        ok: true,
        code: `http_${status}`,
        status,
      });
    }
    for (const status of [400, 401, 404, 408, 409, 413, 418, 429, 451, 500, 502, 503, 504, 599]) {
      expect(await made.send(message(at(await answering(status))))).toMatchObject({
        ok: false,
        code: `http_${status}`,
        status,
      });
    }
  });

  it("[W-17] 410 says that the receiver is gone", async () => {
    const result = await sender().send(message(at(await answering(410))));
    expect(result).toMatchObject({ ok: false, code: "gone", status: 410, gone: true });
    expect(await sender().send(message(at(await answering(404))))).not.toHaveProperty("gone");
  });

  it("[W-17] Retry-After is passed on within bounds, counted from the attempt's own time", async () => {
    const ask = async (value: string, status = 503) =>
      (
        await sender({ ...LOOPBACK, clock: virtualClock() }).send(
          message(at(await answering(status, { "retry-after": value }))),
        )
      ).retryAfterMs;
    expect(await ask("120")).toBe(120_000);
    expect(await ask("0", 429)).toBe(0);
    expect(await ask("99999999999999999999")).toBe(86_400_000);
    expect(await ask(new Date(1_900_000_060_000).toUTCString())).toBe(60_000);
    expect(await ask(new Date(1_800_000_000_000).toUTCString())).toBe(0);
    expect(await ask("-5")).toBe(undefined);
    expect(await ask("soon")).toBe(undefined);
    expect(await ask("120", 200)).toBe(undefined);
  });

  it("[W-17] part of the answer is kept, and only such headers as help", async () => {
    const target = await answering(
      500,
      { "content-type": "text/plain", "set-cookie": "session=1", "x-request-id": "r".repeat(900) },
      "no such order",
    );
    const { response } = await sender().send(message(at(target)));
    expect(response).toMatchObject({ body: "no such order", truncated: false });
    expect(response?.headers).toMatchObject({
      "content-type": "text/plain",
      "x-request-id": "r".repeat(256),
    });
    expect(response?.headers).not.toHaveProperty("set-cookie");
  });

  it("[W-17] one connection serves many requests", async () => {
    const target = await answering(200);
    const made = sender();
    for (let n = 0; n < 20; n++) {
      expect((await made.send(message(at(target)))).ok).toBe(true);
      await turn();
    }
    expect(target.connections()).toBe(1);
    await Promise.all(Array.from({ length: 200 }, () => made.send(message(at(target)))));
    expect(target.connections()).toBeLessThanOrEqual(32);
  });

  it("[W-17] a closed port, an unknown name and a resolver that throws have labels of their own", async () => {
    const probe = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => probe.once("listening", resolve));
    const { port } = probe.address() as AddressInfo;
    await new Promise((resolve) => probe.close(resolve));
    expect(await sender().send(message(`http://127.0.0.1:${port}/`))).toMatchObject({
      code: "connect_refused",
    });
    const resolvers: readonly (() => unknown)[] = [
      () => Promise.reject(new Error("a detail")),
      () => Promise.reject(undefined),
      () => {
        throw new Error("at once");
      },
      () => Promise.resolve(null),
      () => ["127.0.0.1", 7],
    ];
    for (const resolve of resolvers) {
      const made = sender({ ...LOOPBACK, resolve: resolve as Resolve });
      expect(await made.send(message("http://receiver.example/"))).toEqual({
        ok: false,
        code: resolve === resolvers.at(-1) ? "address_refused" : "dns_failed",
        durationMs: expect.any(Number) as number,
      });
    }
  });

  it("[W-17] a second address of a name is tried when the first does not answer", async () => {
    const target = await answering(200);
    const made = sender({ ...LOOPBACK, resolve: () => Promise.resolve(["127.0.0.2", "127.0.0.1"]) });
    expect((await made.send(message(`http://receiver.example:${target.port}/`))).ok).toBe(true);
  });

  it("[W-17] whoever asked for it ends it, before, while and after it waits", async () => {
    let requests = 0;
    const target = await receiver((request) => {
      request.resume();
      requests++;
    });
    const made = sender();
    expect(
      await made.send(message(at(target), { stop: { stopped: "lost", onStop: () => undefined } })),
    ).toMatchObject({
      code: "aborted",
    });
    let stop: (() => void) | undefined;
    const onStop = (listener: (() => void) | undefined): void => void (stop = listener);
    const sent = made.send(message(at(target), { stop: { stopped: undefined, onStop } }));
    await until(() => requests === 1);
    stop?.();
    expect(await sent).toMatchObject({ ok: false, code: "aborted" });
    expect(stop).toBe(undefined);
    await until(() => target.open() === 0);
    expect(requests).toBe(1);
  });

  it("[W-17] closing ends what is under way and refuses what comes later", async () => {
    let requests = 0;
    const target = await receiver((request) => {
      request.resume();
      requests++;
    });
    const made = createSender(LOOPBACK);
    const sent = made.send(message(at(target)));
    await until(() => requests === 1);
    await made.close();
    expect(await sent).toMatchObject({ ok: false, code: "closed" });
    expect(await made.send(message(at(target)))).toMatchObject({ ok: false, code: "closed" });
    await made.close();
    await createSender(LOOPBACK).close();
  });

  it("[W-17] closing does not wait for a name that is never resolved, and leaves no timer behind", async () => {
    let asked = false;
    const clock = virtualClock();
    const after = clock.after.bind(clock);
    let timers = 0;
    clock.after = (ms, callback) => {
      timers++;
      const cancel = after(ms, callback);
      return () => {
        timers--;
        cancel();
      };
    };
    const resolve = (): Promise<never> => {
      asked = true;
      return new Promise(() => undefined);
    };
    const made = createSender({ ...LOOPBACK, clock, resolve });
    const sent = made.send(message("http://receiver.example/"));
    await until(() => asked);
    expect(timers).toBe(2);
    await made.close();
    expect(await sent).toMatchObject({ ok: false, code: "closed" });
    expect(timers).toBe(0);
  });

  it("[W-16] headers that would forge, frame or reroute the request are refused", async () => {
    const target = await answering(200);
    const made = sender();
    const refused = [
      "Host",
      "content-length",
      "Transfer-Encoding",
      "connection",
      "expect",
      "webhook-id",
      "Webhook-Signature",
      "proxy-authorization",
      "a b",
      "a\nb",
      "",
    ];
    for (const name of refused) {
      const result = await made.send(message(at(target), { headers: { [name]: "1" } }));
      expect([name, result.code]).toEqual([name, "request_invalid"]);
    }
    for (const value of ["a\r\nwebhook-id: forged", "a\nb", "a\0b", "日", "x".repeat(4_097)]) {
      expect(await made.send(message(at(target), { headers: { "x-a": value } }))).toMatchObject({
        code: "request_invalid",
      });
    }
    expect(target.connections()).toBe(0);
  });

  it("[W-16] a body that is not bytes is not sent", async () => {
    const target = await answering(200);
    for (const body of [
      "text",
      ["a", "b"],
      { type: "order.placed" },
      7,
      undefined,
      null,
      new ArrayBuffer(3),
    ]) {
      expect(await sender().send(message(at(target), { body: body as never }))).toMatchObject({
        code: "request_invalid",
      });
    }
    expect(target.connections()).toBe(0);
  });

  it("[W-17] it never throws, whatever it is given", async () => {
    const target = await answering(200);
    const made = sender({ ...LOOPBACK, resolve: () => Promise.resolve([]) });
    await fc.assert(
      fc.asyncProperty(
        fc.record(
          {
            url: fc.oneof(fc.constant(at(target)), fc.webUrl(), fc.anything()),
            body: fc.oneof(fc.uint8Array(), fc.anything()),
            headers: fc.anything(),
            id: fc.oneof(fc.constant("m"), fc.anything()),
            timestamp: fc.oneof(fc.constant(1), fc.anything()),
            secrets: fc.oneof(fc.constant([SECRET]), fc.anything()),
          },
          { requiredKeys: [] },
        ),
        async (request) => {
          const result = await made.send(request as never);
          expect(result.code).toMatch(/^[a-z0-9_]+$/);
        },
      ),
      { numRuns: 300 },
    );
    expect((await made.send(undefined as never)).ok).toBe(false);
  });

  it.each<[string, unknown]>([
    ["an unknown option", { allowhttp: true }],
    ["a port that is none", { allowPorts: [70_000] }],
    ["ports that are no list", { allowPorts: "all" }],
    ["a network that is none", { allowNetworks: ["intern"] }],
    ["no connections", { connections: 0 }],
    ["no time to connect", { connectTimeout: 0 }],
  ])("[W-18] refuses %s", (_what, options) => {
    expect(() => createSender(options as SenderOptions)).toThrow(
      expect.objectContaining({ name: "AmendsError" }) as Error,
    );
  });

  it("[W-18] lookups of one name share one answer while it is under way, and ask anew after", async () => {
    let asked = 0;
    let answer: (addresses: readonly string[]) => void = () => undefined;
    const resolve = sharing(() => {
      asked++;
      return new Promise((done) => (answer = done));
    });
    const both = Promise.all([resolve("a.example"), resolve("a.example")]);
    answer(["127.0.0.1"]);
    expect(await both).toEqual([["127.0.0.1"], ["127.0.0.1"]]);
    const later = resolve("a.example");
    answer([]);
    expect([await later, asked]).toEqual([[], 2]);
  });
});
