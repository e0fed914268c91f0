import { Amends, saga } from "amends";
import { postgres } from "amends/postgres";
import { workHandler } from "amends/serverless";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { gatekeeper } from "./support/hold.ts";

const secret = "a-secret-of-the-cron-job";
const url = "https://shop.example/api/work";

function request(given: string | undefined = `Bearer ${secret}`, method: string = "GET"): Request {
  return new Request(url, { method, headers: given === undefined ? {} : { authorization: given } });
}

onEachDatabase((database) => {
  const gate = gatekeeper();

  it("[C-09] a request with the secret runs what is due, and gets the report", async () => {
    const order = saga("order", z.object({})).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    const handle = workHandler(amends, { budget: "8s", secret });
    const response = await handle(request());
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(await response.json()).toEqual({ items: 1, more: false });
    expect(await run.status()).toBe("COMPLETED");
  });

  it("[C-09] without the secret nothing runs", async () => {
    const order = saga("order", z.object({})).step("only", { act: () => 1 });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    const handle = workHandler(amends, { budget: "8s", secret });
    for (const given of ["", "Bearer", `Bearer ${secret}x`, secret, `bearer ${secret}`]) {
      expect((await handle(request(given))).status).toBe(401);
    }
    expect((await handle(new Request(url))).status).toBe(401);
    expect((await handle(request(undefined, "DELETE"))).status).toBe(405);
    expect(await run.status()).toBe("PENDING");
  });

  it("[C-09] requests that come while it runs share the run", async () => {
    const held = gate();
    const order = saga("order", z.object({})).step("only", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, {});
    const handle = workHandler(amends, { budget: "1m", secret });
    const first = handle(request());
    await held.reached;
    const second = handle(request());
    held.open();
    for (const response of await Promise.all([first, second]))
      expect(await response.json()).toMatchObject({ items: 1 });
  });

  it("[C-09] a secret that the build does not have is read at each request; while it is missing, requests are refused and logged", async () => {
    const order = saga("order", z.object({})).step("only", { act: () => 1 });
    const said: string[] = [];
    const note = (_: object, message: string): void => void said.push(message);
    const amends = await database.amends({ sagas: [order], logger: { info: note, warn: note, error: note } });
    const run = await amends.start(order, {});
    let known: string | undefined;
    const handle = workHandler(amends, { budget: "8s", secret: () => known });
    for (const missing of [undefined, "", "short"]) {
      known = missing;
      const refused = await handle(request(`Bearer ${missing}`));
      expect([refused.status, await refused.json()]).toEqual([500, { code: "NO_SECRET" }]);
    }
    expect(said).toHaveLength(3);
    expect(said[0]).toContain("`secret` of workHandler");
    expect(await run.status()).toBe("PENDING");
    known = secret;
    expect((await handle(request("Bearer another-secret-of-a-job"))).status).toBe(401);
    expect((await handle(request())).status).toBe(200);
    expect(await run.status()).toBe("COMPLETED");
  });

  it("[C-09] a secret that can be guessed, and an unknown option, are refused", async () => {
    const amends = await database.amends({ sagas: [] });
    for (const options of [
      { budget: "8s", secret: "short" },
      { budget: "8s", secret: undefined },
      { budget: "8s", secret, token: "x" },
    ])
      expect(() => workHandler(amends, options as { budget: "8s"; secret: string })).toThrow(
        expect.objectContaining({ code: "BAD_OPTION" }) as Error,
      );
  });
});

it("[C-09] a database that cannot be reached is answered with 503", async () => {
  const amends = new Amends({ database: postgres({ url: "postgres://localhost:1/shop" }), sagas: [] });
  const response = await workHandler(amends, { budget: "8s", secret })(request());
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("10");
  expect(await response.json()).toEqual({ code: "DATABASE_UNREACHABLE" });
  await amends.close();
});
