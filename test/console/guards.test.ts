/** Every route of the table, spoilt in one way at a time. */
import { expect, it } from "vitest";
import { CONTENT_SECURITY_POLICY } from "../../src/console/http/answer.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { samplesOf, type Sample } from "./support/sample.ts";
import { openShop } from "./support/shop.ts";
import { PAGE, program, TOKENS, visit, type Ask, type Visit } from "./support/visit.ts";

const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

function expectHeaders(response: Response): void {
  expect(Object.fromEntries(response.headers)).toMatchObject(HEADERS);
  expect(response.headers.get("access-control-allow-origin")).toBeNull();
}

const isWrite = ({ route }: Sample): boolean => route.method !== "GET";

async function scene(
  database: TestDatabase,
): Promise<Visit & { samples: readonly Sample[]; history(): Promise<number> }> {
  const shop = await openShop(database);
  await shop.run("STALLED", "o-1");
  const visitor = visit(shop.amends);
  return {
    ...visitor,
    samples: samplesOf(visitor.console.routes),
    history: async () => (await shop.amends.inspect("o-1"))?.revision ?? 0,
  };
}

/** Ends a stream of events: nobody reads it here. */
async function done(response: Response): Promise<Response> {
  await response.body?.cancel();
  return response;
}

onEachDatabase((database) => {
  it("[X-01] the policy is exactly the one that was decided on", () => {
    expect(CONTENT_SECURITY_POLICY).toBe(HEADERS["content-security-policy"]);
  });

  it("[X-01] without a token no route but the open ones answers, and each answer has all headers", async () => {
    const { samples, ask, history } = await scene(database);
    const before = await history();
    for (const sample of samples) {
      const headers = isWrite(sample) ? PAGE : {};
      const response = await done(await ask(sample.path, { ...sample.ask, headers }));
      expectHeaders(response);
      const open = sample.route.access === "open";
      expect([sample.title, response.status]).toEqual([sample.title, open ? 200 : 401]);
    }
    expect(await history()).toBe(before);
  });

  it("[X-02] a cursor that was tampered with is refused on every list, and troubles no database", async () => {
    const { samples, as } = await scene(database);
    const lists = samples.filter(({ route }) => route.query?.["after"] !== undefined);
    expect(lists.length).toBeGreaterThan(6);
    const tampered = (...parts: unknown[]): string =>
      Buffer.from(JSON.stringify(parts).replace('"1e308"', "1e+308")).toString("base64url");
    const cursors = [
      tampered("1e308", "a"),
      tampered(-1e300, "a"),
      tampered(-210_866_803_200_001, "1"),
      tampered(8_640_000_000_000_001, "1"),
      tampered(8_640_000_000_000_000, "a"),
      tampered(0, "9".repeat(30)),
      tampered(0.5, "\ud800"),
      "9".repeat(30),
    ];
    for (const { path, title } of lists) {
      for (const [at, after] of cursors.entries()) {
        const { status } = await as("reader", `${path}?after=${after}`);
        expect([title, at, status === 200 || status === 400]).toEqual([title, at, true]);
      }
    }
    for (const list of ["sagas", "audit", "flows", "erasures"]) {
      for (const after of cursors.slice(0, 4)) {
        const response = await as("reader", `/api/${list}?after=${after}`);
        expect([list, response.status]).toEqual([list, 400]);
        expect(await response.json()).toMatchObject({ code: "BAD_INPUT", field: "after" });
      }
    }
  });

  it("[X-01] a Host that is not ours is refused before anything else, on every route and every page", async () => {
    const { samples, as, ask, history } = await scene(database);
    const before = await history();
    for (const host of [
      "evil.example",
      "127.0.0.1.evil.example",
      "evil.example:7077",
      "localhost@evil.example",
      "",
    ]) {
      for (const sample of samples) {
        const response = await as(sample.may, sample.path, { ...sample.ask, headers: { host } });
        expectHeaders(response);
        expect([sample.title, host, response.status]).toEqual([sample.title, host, 403]);
        expect(await response.json()).toMatchObject({ code: "HOST_REFUSED" });
      }
      for (const path of ["/", "/index.html", "/assets/x.js", "/nothing"]) {
        expect((await ask(path, { headers: { host } })).status).toBe(403);
      }
    }
    expect(await history()).toBe(before);
  });

  it("[X-01] names of this machine are ours, and others once they are named", async () => {
    const shop = await openShop(database);
    const { ask } = visit(shop.amends, {
      hosts: ["ops.internal", "tight.internal:8080"],
      origin: "https://ops.example.com",
    });
    for (const [host, status] of [
      ["localhost:1", 200],
      ["LOCALHOST", 200],
      ["[::1]:7077", 200],
      ["127.0.0.1", 200],
      ["ops.internal", 200],
      ["ops.internal:99", 200],
      ["tight.internal:8080", 200],
      ["tight.internal:8081", 403],
      ["ops.example.com", 200],
      ["ops.example.com.evil.example", 403],
    ] as const) {
      expect([host, (await ask("/api/health", { headers: { host } })).status]).toEqual([host, status]);
    }
  });

  it("[X-01] changes are refused unless they come from the console's own page, or from no page at all", async () => {
    const { samples, ask, as, history } = await scene(database);
    const { cookie } = await signIn(ask);
    const before = await history();
    const own = "http://127.0.0.1:7077";
    const wrong: Readonly<Record<string, string>>[] = [
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" },
      { origin: "http://evil.example" },
      { origin: "null" },
      { origin: "http://127.0.0.1:7078" },
      { origin: "https://127.0.0.1:7077" },
      { "sec-fetch-site": "cross-site", origin: own },
      {},
    ];
    for (const sample of samples.filter((one) => isWrite(one) && one.route.access !== "open")) {
      for (const headers of wrong) {
        const sent = { ...headers, cookie, "x-amends-console": "1", "content-type": "application/json" };
        const response = await ask(sample.path, { ...sample.ask, headers: sent });
        expectHeaders(response);
        expect([sample.title, headers, response.status]).toEqual([sample.title, headers, 403]);
        expect(await response.json()).toMatchObject({ code: "CROSS_SITE" });
      }
      const { "x-amends-console": _, ...without } = PAGE;
      const bare = await ask(sample.path, { ...sample.ask, headers: { ...without, cookie } });
      expect([sample.title, await bare.json()]).toEqual([
        sample.title,
        expect.objectContaining({ code: "HEADER_MISSING" }),
      ]);
      const fromPage = await as(sample.may, sample.path, {
        ...sample.ask,
        headers: { origin: "http://evil.example" },
      });
      expect([sample.title, fromPage.status]).toEqual([sample.title, 403]);
    }
    expect(await history()).toBe(before);
  });

  it("[X-01] a sign-in is not taken from another site either", async () => {
    const { ask } = await scene(database);
    const body = { token: TOKENS.operator.token };
    for (const site of ["cross-site", "same-site"]) {
      const headers = { ...PAGE, "sec-fetch-site": site };
      expect((await ask("/api/session", { method: "POST", body, headers })).status).toBe(403);
    }
  });

  it("[X-01] each route asks for its role, and for no other", async () => {
    const { samples, as } = await scene(database);
    for (const { title, path, ask: sent, mayNot, route } of samples) {
      if (!mayNot) continue;
      const refused = await as(mayNot, path, sent);
      expectHeaders(refused);
      const message = `This needs the role ${route.access}.`;
      expect([title, refused.status, await refused.json()]).toEqual([
        title,
        403,
        { code: "ROLE_MISSING", message },
      ]);
    }
    for (const { title, path, ask: sent, may } of samples) {
      const response = await done(await as(may, path, sent));
      // Some things are not there, and some actions are not possible now: but nobody was refused.
      expect([title, [200, 404, 409].includes(response.status)]).toEqual([title, true]);
      expectHeaders(response);
    }
  });

  it("[X-01] bad input is refused on every route with the field's name, and no internals", async () => {
    const { samples, as } = await scene(database);
    for (const { title, path, ask: sent, may, route } of samples) {
      const unknown = await as(may, `${path}?nonsense=1`, sent);
      expect([title, unknown.status, await unknown.json()]).toEqual([
        title,
        400,
        expect.objectContaining({ code: "BAD_INPUT", field: "nonsense" }),
      ]);
      for (const name of Object.keys(route.query ?? {})) {
        const response = await as(may, `${path}?${name}=${"%00".repeat(3)}${"x".repeat(5_000)}`, sent);
        expect([title, name, response.status]).toEqual([title, name, 400]);
        expect(await response.json()).toMatchObject({ field: name });
      }
      if (!route.body) continue;
      for (const [body, status] of BAD_BODIES) {
        const response = await as(may, path, { method: route.method, body });
        const answered = [title, body.slice(0, 40), response.status];
        expect(answered).toEqual([title, body.slice(0, 40), status]);
        expectHeaders(response);
        expect(await response.text()).not.toMatch(/node:|\.ts:|at .*\(|SQL|stack/);
      }
      const notJson = await as(may, path, { ...sent, headers: { "content-type": "text/plain" } });
      expect([title, notJson.status]).toEqual([title, 415]);
    }
  });

  it("[X-01] paths and methods that do not exist are refused with all headers", async () => {
    const { as, ask } = await scene(database);
    for (const path of [
      "/api/none",
      "/api/sagas/%zz",
      "/api/sagas//cancel",
      "/..%2f..%2fetc/passwd",
      "/assets/../x",
    ]) {
      const response = await as("reader", path);
      expectHeaders(response);
      expect([path, response.status]).toEqual([path, 404]);
    }
    const wrong = await as("reader", "/api/sagas", { method: "PUT", body: "{}" });
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET"]);
    expect((await ask("/", { method: "POST", body: "{}", headers: PAGE })).status).toBe(405);
    const head = await as("reader", "/api/sagas", { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    expectHeaders(head);
  });

  it("[P-04] what has not changed since it was read is answered with 304 and no body, and is never stored", async () => {
    const shop = await openShop(database);
    await shop.run("COMPLETED", "o-1");
    const { ask } = visit(shop.amends);
    const read = (etag?: string): Promise<Response> =>
      ask("/api/sagas", {
        headers: { ...program("reader"), ...(etag !== undefined && { "if-none-match": etag }) },
      });
    const first = await read();
    const etag = first.headers.get("etag") ?? "";
    expect([first.status, etag.length > 10, first.headers.get("cache-control")]).toEqual([
      200,
      true,
      "no-store",
    ]);
    const again = await read(etag);
    expect([again.status, await again.text(), again.headers.get("etag")]).toEqual([304, "", etag]);
    await shop.run("COMPLETED", "o-2");
    const changed = await read(etag);
    expect([changed.status, changed.headers.get("etag") === etag]).toEqual([200, false]);
    expect((await ask("/api/sagas", { headers: { "if-none-match": etag } })).status).toBe(401);
  });
});

const deep = (levels: number): string => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;

const BAD_BODIES: readonly (readonly [string, number])[] = [
  ["", 400],
  ["[]", 400],
  ["null", 400],
  ["{", 400],
  ["{}", 400],
  ['{"reason":"  "}', 400],
  ['{"reason":7}', 400],
  ['{"reason":"\\u0000"}', 400],
  [`{"reason":"${"x".repeat(1_001)}"}`, 400],
  ['{"reason":"test","nonsense":1}', 400],
  ['{"reason":"test","__proto__":{"polluted":1}}', 400],
  ['{"reason":"test","result":{"constructor":1}}', 400],
  [`{"reason":"test","result":${deep(65)}}`, 400],
  [`{"reason":"test","result":{${Array.from({ length: 10_001 }, (_, n) => `"k${n}":1`).join(",")}}}`, 400],
  [`{"reason":"${"x".repeat(1_048_577)}"}`, 413],
];

async function signIn(ask: Visit["ask"]): Promise<{ cookie: string }> {
  const sent: Ask = { method: "POST", body: { token: TOKENS.operator.token }, headers: PAGE };
  const response = await ask("/api/session", sent);
  return { cookie: (response.headers.get("set-cookie") ?? "").split(";")[0] as string };
}
