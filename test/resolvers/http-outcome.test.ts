import { classify, errorLabel } from "../../src/core/errors.ts";
import { RetryLater } from "../../src/erasure/remote/resolver.ts";
import { httpResolver } from "../../src/resolvers/http.ts";
import type { HttpStatuses } from "../../src/resolvers/http-outcome.ts";
import type { HttpErasureOptions } from "../../src/resolvers/http-options.ts";
import { retryAfterMs } from "../../src/resolvers/retry-after.ts";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { callOf, portrait, thrownBy } from "./support/calls.ts";
import { httpServer, json, type HttpServer } from "./support/http-server.ts";

const CANARY = "canary-7f3a";
const REF = { kind: "people", value: CANARY };

let server: HttpServer;
beforeEach(async () => {
  server = await httpServer(() => ({ status: 204 }));
});
afterEach(() => server.close());

const erasing = (options: Partial<HttpErasureOptions> = {}): ReturnType<typeof httpResolver> =>
  httpResolver({ name: "people", erase: { url: `${server.url}/people/{value}` }, ...options });

async function outcomeOf(status: number, statuses?: HttpStatuses): Promise<string> {
  server.react(() => ({ status, headers: { location: `${server.url}/elsewhere` }, body: CANARY }));
  const resolver = erasing(statuses ? { statuses } : {});
  try {
    return JSON.stringify(await resolver.eraseSubject(REF, callOf()));
  } catch (thrown) {
    const leak = portrait(thrown).includes(CANARY) ? " with a leak" : "";
    return `${classify(thrown)} ${errorLabel(thrown)}${leak}`;
  }
}

describe("statuses", () => {
  it.each([200, 201, 202, 206])("[O-07] %i is success", async (status) => {
    expect(await outcomeOf(status)).toBe("{}");
  });

  it.each([404, 410])("[O-07] %i is absent, which is success", async (status) => {
    expect(await outcomeOf(status)).toBe('{"alreadyAbsent":true}');
  });

  it.each([400, 401, 402, 403, 405, 406, 413, 422, 451])("[O-08] %i is permanent", async (status) => {
    expect(await outcomeOf(status)).toBe(`permanent http-${status}`);
  });

  it.each([408, 409, 423, 425, 429, 500, 501, 502, 503, 504, 599])(
    "[K-15] %i is transient",
    async (status) => {
      expect(await outcomeOf(status)).toBe(`transient http-${status}`);
    },
  );

  it.each([301, 302, 303, 307, 308])("[O-08] %i is permanent, and not followed", async (status) => {
    expect(await outcomeOf(status)).toBe(`permanent http-${status}`);
    expect(server.received.map(({ path }) => path)).toEqual([`/people/${CANARY}`]);
  });

  it("[E-12] a system's own meanings come first, a status before its hundred", async () => {
    const statuses: HttpStatuses = { 409: "absent", "5xx": "permanent", 503: "done", "4xx": "transient" };
    expect(await outcomeOf(409, statuses)).toBe('{"alreadyAbsent":true}');
    expect(await outcomeOf(500, statuses)).toBe("permanent http-500");
    expect(await outcomeOf(503, statuses)).toBe("{}");
    expect(await outcomeOf(418, statuses)).toBe("transient http-418");
    expect(await outcomeOf(404, statuses)).toBe('{"alreadyAbsent":true}');
  });

  it("[E-12] a request's own meanings come before the system's", async () => {
    server.react(() => ({ status: 404 }));
    const resolver = httpResolver({
      name: "people",
      statuses: { 404: "transient" },
      erase: { url: server.url, statuses: { 404: "permanent" } },
      verify: { url: server.url },
    });
    expect(classify(await thrownBy(() => resolver.eraseSubject(REF, callOf())))).toBe("permanent");
    expect(classify(await thrownBy(() => resolver.verifyAbsent(REF, callOf())))).toBe("transient");
  });
});

describe("what the system asks for", () => {
  it.each([429, 503, 409])("[E-12] Retry-After of a %i is passed on", async (status) => {
    server.react(() => ({ status, headers: { "retry-after": "90" } }));
    const thrown = await thrownBy(() => erasing().eraseSubject(REF, callOf()));
    expect(thrown).toBeInstanceOf(RetryLater);
    expect(thrown).toMatchObject({ afterMs: 90_000, code: `http-${status}` });
  });

  it("[E-12] a date is taken against the reply's own Date, so that clocks need not agree", async () => {
    const date = "Wed, 21 Oct 2015 07:28:00 GMT";
    const later = "Wed, 21 Oct 2015 07:30:00 GMT";
    server.react(() => ({ status: 429, headers: { date, "retry-after": later } }));
    const thrown = await thrownBy(() => erasing().eraseSubject(REF, callOf()));
    expect(thrown).toMatchObject({ afterMs: 120_000 });
  });

  it.each([
    ["0", null, 0],
    [" 5 ", null, 5_000],
    ["999999999", null, 86_400_000],
    ["1e9", null, undefined],
    ["-1", null, undefined],
    ["1.5", null, undefined],
    ["soon", "Wed, 21 Oct 2015 07:28:00 GMT", undefined],
    ["Wed, 21 Oct 2015 07:28:00 GMT", null, undefined],
    ["Wed, 21 Oct 2015 07:28:00 GMT", "soon", undefined],
    ["Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015 07:29:00 GMT", 0],
    ["", null, undefined],
    [null, null, undefined],
  ])("[E-12] Retry-After %j with Date %j is %j ms", (retryAfter, date, ms) => {
    expect(retryAfterMs(retryAfter, date)).toBe(ms);
  });
});

describe("horizons", () => {
  const horizon = async (body: unknown, expiresAt = "data.expires_at"): Promise<unknown> => {
    server.react(() => json(200, body));
    const resolver = httpResolver({ name: "logs", schedule: { url: server.url, expiresAt } });
    return resolver.scheduleErasure(REF, callOf());
  };

  it("[O-11] the date is found where the options say", async () => {
    const expiresAt = new Date("2030-02-01T00:00:00Z");
    expect(await horizon({ data: { expires_at: "2030-02-01T00:00:00Z" } })).toEqual({ expiresAt });
    expect(await horizon({ until: "2030-02-01" }, "until")).toEqual({ expiresAt });
  });

  it.each([
    {},
    null,
    [],
    { data: null },
    { data: { expires_at: null } },
    { data: { expires_at: 1_900_000_000 } },
    { data: { expires_at: "soon" } },
    { data: { expires_at: "2030-99-99" } },
    { data: { expires_at: CANARY } },
  ])("[O-08] a reply that does not say it is permanent trouble (%#)", async (body) => {
    const thrown = await thrownBy(() => horizon(body));
    expect([classify(thrown), errorLabel(thrown)]).toEqual(["permanent", "http-bad-expiry"]);
    expect(portrait(thrown)).not.toContain(CANARY);
  });

  it("[O-11] a function can read any reply, and say that the data is gone", async () => {
    server.react(() => ({ status: 200, headers: { "x-ttl": "60" }, body: "not json" }));
    const resolver = httpResolver({
      name: "logs",
      schedule: {
        url: server.url,
        expiresAt: ({ headers, json: body, status }) =>
          headers.get("x-ttl") === "0" ? "absent" : new Date(status + Number(body ?? headers.get("x-ttl"))),
      },
    });
    expect(await resolver.scheduleErasure(REF, callOf())).toEqual({ expiresAt: new Date(260) });
    server.react(() => ({ status: 200, headers: { "x-ttl": "0" } }));
    expect(await resolver.scheduleErasure(REF, callOf())).toEqual({ alreadyAbsent: true });
  });
});

it("[O-12] a system that answers an empty list can say so", async () => {
  const resolver = httpResolver({
    name: "people",
    erase: { url: server.url },
    verify: { url: server.url, absent: ({ json: found }) => Array.isArray(found) && found.length === 0 },
  });
  server.react(() => json(200, []));
  expect(await resolver.verifyAbsent(REF, callOf())).toBe(true);
  server.react(() => json(200, [{ id: 1 }]));
  expect(await resolver.verifyAbsent(REF, callOf())).toBe(false);
});
