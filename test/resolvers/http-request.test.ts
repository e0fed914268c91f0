import { virtualClock } from "amends/testing";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { classify, errorLabel } from "../../src/core/errors.ts";
import { httpResolver } from "../../src/resolvers/http.ts";
import type { HttpErasureOptions } from "../../src/resolvers/http-options.ts";
import { callOf, portrait, thrownBy } from "./support/calls.ts";
import { httpServer, type HttpServer } from "./support/http-server.ts";

const CANARY = "canary-7f3a";
const REF = { kind: "people", value: CANARY };

let server: HttpServer;
beforeEach(async () => {
  server = await httpServer(() => ({ status: 204 }));
});
afterEach(() => server.close());

const erasing = (options: Partial<HttpErasureOptions> = {}): ReturnType<typeof httpResolver> =>
  httpResolver({ name: "people", erase: { url: `${server.url}/people/{value}` }, ...options });

describe("what is sent", () => {
  it("[O-06] the entry's id goes along as the idempotency key, and the user's headers too", async () => {
    const headers = { authorization: "Bearer secret" };
    await erasing({ headers }).eraseSubject(REF, callOf({ key: "entry-1" }));
    await erasing({ idempotencyHeader: "X-Request-Id" }).eraseSubject(REF, callOf({ key: "entry-2" }));
    await erasing({ idempotencyHeader: false }).eraseSubject(REF, callOf({ key: "entry-3" }));
    const [first, second, third] = server.received;
    expect(first).toMatchObject({ method: "DELETE", path: `/people/${CANARY}`, body: "" });
    expect(first?.headers).toMatchObject({ "idempotency-key": "entry-1", authorization: "Bearer secret" });
    expect(second?.headers).toMatchObject({ "x-request-id": "entry-2" });
    expect(JSON.stringify([second?.headers["idempotency-key"], third?.headers])).not.toContain("entry-");
  });

  it("[E-12] headers can be asked for each time", async () => {
    let count = 0;
    const resolver = erasing({ headers: async () => ({ authorization: `token-${(count += 1)}` }) });
    await resolver.eraseSubject(REF, callOf());
    await resolver.eraseSubject(REF, callOf());
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["token-1", "token-2"]);
  });

  it("[E-12] methods and bodies are as the options say", async () => {
    const url = `${server.url}/{kind}/{extra.region}?id={value}`;
    const ref = { kind: "people", value: "a&b=c", extra: { region: "eu west" } };
    const resolver = httpResolver({
      name: "people",
      erase: { url, method: "POST", body: ({ ref: { value }, subjectId }) => ({ value, subjectId }) },
      rectify: { url },
    });
    await resolver.eraseSubject(ref, callOf());
    await resolver.rectifySubject(ref, [{ category: "email", value: "b@example.com" }], callOf());
    const [erase, rectify] = server.received;
    expect(erase).toMatchObject({ method: "POST", path: "/people/eu%20west?id=a%26b%3Dc" });
    expect(JSON.parse(erase?.body ?? "")).toEqual({ value: "a&b=c", subjectId: "subject-1" });
    expect(erase?.headers["content-type"]).toBe("application/json");
    expect(rectify).toMatchObject({ method: "PATCH", body: '{"email":"b@example.com"}' });
  });

  it("[E-12] a form and a text are sent as they are", async () => {
    const form = (body: () => unknown): ReturnType<typeof httpResolver> =>
      erasing({ erase: { url: server.url, method: "POST", body } });
    await form(() => new URLSearchParams({ a: "1 2" })).eraseSubject(REF, callOf());
    await form(() => "plain").eraseSubject(REF, callOf());
    expect(server.received.map(({ body }) => body)).toEqual(["a=1+2", "plain"]);
    expect(server.received[0]?.headers["content-type"]).toMatch(/^application\/x-www-form-urlencoded/);
  });
});

describe("addresses", () => {
  it("[E-12] whatever a ref says stays in its own segment", async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }), async (value) => {
        fc.pre(value !== "." && value !== ".." && !value.includes("\0"));
        await erasing({ erase: { url: `${server.url}/people/{value}/data` } }).eraseSubject(
          { kind: "people", value },
          callOf(),
        );
        const segments = server.received.at(-1)?.path.split("/") ?? [];
        expect(segments).toHaveLength(4);
        expect(decodeURIComponent(segments[2] ?? "")).toBe(value);
      }),
      { numRuns: 60 },
    );
  });

  it.each(["", ".", "..", "\uD800"])(
    "[O-08] a value that would mean another address is refused: %j",
    async (value) => {
      const thrown = await thrownBy(() => erasing().eraseSubject({ kind: "people", value }, callOf()));
      expect(classify(thrown)).toBe("permanent");
      expect(errorLabel(thrown)).toMatch(/^http-bad-(?:ref|address)$/);
      expect(server.received).toEqual([]);
    },
  );

  it("[O-08] a ref without what the address needs is refused", async () => {
    const resolver = erasing({ erase: { url: `${server.url}/{extra.region}/{value}` } });
    const thrown = await thrownBy(() => resolver.eraseSubject(REF, callOf()));
    expect([classify(thrown), errorLabel(thrown)]).toEqual(["permanent", "http-bad-ref"]);
    expect(portrait(thrown)).not.toContain(CANARY);
  });

  it.each([
    "ftp://example.com/x",
    `http://user:${CANARY}@127.0.0.1/`,
    `/people/${CANARY}`,
    `http://127.0.0.1/a/../${CANARY}`,
    `http://127.0.0.1/a/%2e%2E/${CANARY}`,
    `http://127.0.0.1/a\\..\\${CANARY}`,
  ])("[O-08] a function that makes no sound address is refused, and not quoted (%#)", async (address) => {
    const resolver = erasing({ erase: { url: () => address } });
    const thrown = await thrownBy(() => resolver.eraseSubject(REF, callOf()));
    expect([classify(thrown), errorLabel(thrown)]).toEqual(["permanent", "http-bad-address"]);
    expect(portrait(thrown)).not.toContain(CANARY);
  });

  it("[E-12] a function may give a URL", async () => {
    const url = ({ value }: { value: string }): URL => new URL(`/v2/${value}?x=../..`, server.url);
    await erasing({ erase: { url } }).eraseSubject(REF, callOf());
    expect(server.received[0]?.path).toBe(`/v2/${CANARY}?x=../..`);
  });
});

describe("limits", () => {
  it("[K-15] a system that does not answer in time is transient trouble", async () => {
    server.react(() => "hang");
    const clock = virtualClock();
    const resolver = erasing({ timeout: "5s", clock });
    const thrown = thrownBy(() => resolver.eraseSubject(REF, callOf()));
    await vi.waitFor(() => expect(server.received).toHaveLength(1));
    await clock.advance(5_000);
    expect([classify(await thrown), errorLabel(await thrown)]).toEqual(["transient", "http-timeout"]);
    expect(portrait(await thrown)).not.toContain(CANARY);
  });

  it("[K-15] a reply that never ends is bounded by the same time", async () => {
    const clock = virtualClock();
    server.react(() => ({ status: 200, headers: { "content-length": "1000" }, body: "part" }));
    const thrown = thrownBy(() => erasing({ timeout: "5s", clock }).eraseSubject(REF, callOf()));
    await vi.waitFor(() => expect(server.received).toHaveLength(1));
    await clock.advance(5_000);
    expect(classify(await thrown)).toBe("transient");
  });

  it("[O-06][K-08] an aborted call ends with the signal's reason, also where headers hang", async () => {
    const controller = new AbortController();
    const reason = new Error("shutting down");
    const resolver = erasing({ headers: () => new Promise(() => undefined) });
    const thrown = thrownBy(() => resolver.eraseSubject(REF, callOf({ signal: controller.signal })));
    controller.abort(reason);
    expect(await thrown).toBe(reason);
    expect(server.received).toEqual([]);
  });

  it("[E-12] no more of a reply is read than the limit, and what is not needed is not missed", async () => {
    const long = JSON.stringify({ expires_at: "2030-01-01", padding: "x".repeat(100_000) });
    server.react(() => ({ status: 200, body: long }));
    expect(await erasing().eraseSubject(REF, callOf())).toEqual({});
    const schedule = { url: server.url, expiresAt: "expires_at" };
    const small = httpResolver({ name: "logs", schedule });
    expect(errorLabel(await thrownBy(() => small.scheduleErasure(REF, callOf())))).toBe("http-bad-expiry");
    const large = httpResolver({ name: "logs", schedule, replyMaxBytes: 200_000 });
    expect(await large.scheduleErasure(REF, callOf())).toEqual({ expiresAt: new Date("2030-01-01") });
  });

  it("[K-15][K-16] connections that fail are transient, and only their label is kept", async () => {
    server.react(() => "reset");
    const cut = await thrownBy(() => erasing().eraseSubject(REF, callOf()));
    expect(classify(cut)).toBe("transient");
    expect(["UND_ERR_SOCKET", "ECONNRESET"]).toContain(errorLabel(cut));
    await server.close();
    const refused = await thrownBy(() => erasing().eraseSubject(REF, callOf()));
    expect([classify(refused), errorLabel(refused)]).toEqual(["transient", "ECONNREFUSED"]);
    const strange = erasing({ fetch: () => Promise.reject(new TypeError(`cannot fetch ${CANARY}`)) });
    const thrown = await thrownBy(() => strange.eraseSubject(REF, callOf()));
    expect([classify(thrown), errorLabel(thrown)]).toEqual(["transient", "http-unreachable"]);
    for (const error of [cut, refused, thrown]) expect(portrait(error)).not.toContain(CANARY);
  });

  it("[K-16] headers that HTTP does not allow are refused without being quoted", async () => {
    const headers = { authorization: `${CANARY}\nx: y` };
    const thrown = await thrownBy(() => erasing({ headers: () => headers }).eraseSubject(REF, callOf()));
    expect([classify(thrown), errorLabel(thrown)]).toEqual(["permanent", "http-bad-headers"]);
    expect(portrait(thrown)).not.toContain(CANARY);
    expect(() => erasing({ headers })).toThrow(/HTTP does not allow/);
  });
});

describe("what is wrong with the options is said when the resolver is made", () => {
  const url = "https://example.com/{value}";
  it.each<[string, RegExp]>([
    ['{ "name": "x" }', /needs either erase or schedule/],
    [`{ "name": "", "erase": { "url": "${url}" } }`, /name must not be empty/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "schedule": { "url": "${url}" } }`, /either erase or/],
    [
      `{ "name": "x", "schedule": { "url": "${url}", "expiresAt": "a" }, "verify": {} }`,
      /neither rectify nor/,
    ],
    [`{ "name": "x", "schedule": { "url": "${url}" } }`, /needs expiresAt/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "header": {} }`, /no option named header\./],
    [`{ "name": "x", "erase": { "uri": "${url}" } }`, /erase: there is no option named uri/],
    ['{ "name": "x", "erase": { "url": 1 } }', /must be a text or a function/],
    ['{ "name": "x", "erase": { "url": "example.com/{value}" } }', /must begin with https/],
    ['{ "name": "x", "erase": { "url": "https://{value}.example.com/" } }', /name its host itself/],
    ['{ "name": "x", "erase": { "url": "https://a:b@example.com/" } }', /without credentials/],
    ['{ "name": "x", "erase": { "url": "https://example.com/{id}" } }', /not \{id\}/],
    ['{ "name": "x", "erase": { "url": "https://example.com/../{value}" } }', /dots for a folder/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "statuses": { "99": "done" } }`, /99 is no status/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "statuses": { "404": "gone" } }`, /must mean one of/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "timeout": "0s" }`, /longer than zero/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "replyMaxBytes": 0 }`, /whole number/],
    [`{ "name": "x", "erase": { "url": "${url}" }, "idempotencyHeader": "a b" }`, /allow as a name/],
    [`{ "name": "x", "erase": { "url": "${url}", "method": "GET", "body": "x" } }`, /body with GET/],
  ])("[K-20] %s", (text, says) => {
    expect(() => httpResolver(JSON.parse(text) as HttpErasureOptions)).toThrow(says);
  });
});
