/** What is paused, over HTTP: sagas, names of sagas and of calls, and who did it. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { PausedLine, PausedName } from "../../src/console/contract-parts.ts";
import type { ActionLine, Page, SagaDetail, SagaPage } from "../../src/console/contract.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

const why = { reason: "the bank is down" };

async function scene(database: TestDatabase) {
  const order = saga("place-order", z.object({})).step("ship", { act: () => 1 });
  const amends = await database.amends({ sagas: [order] });
  await amends.start(order, {}, { id: "o-1" });
  // A console steers whatever there is, also in a process that knows none of the sagas.
  return { amends, ...visit(await database.amends({})) };
}

onEachDatabase((database) => {
  it("[S-44][P-04] a saga is paused and resumed by an operator, and both are on record", async () => {
    const { amends, get, post } = await scene(database);
    const paused = await post<SagaDetail>("operator", "/api/sagas/o-1/pause", why);
    expect(paused).toMatchObject({ id: "o-1", isPaused: true, paused: { kind: "id", by: "Otto", ...why } });
    expect(await amends.worker().runOnce()).toBe(0);
    expect((await get<SagaPage>("reader", "/api/sagas")).items).toMatchObject([
      { id: "o-1", isPaused: true },
    ]);
    const resumed = await post<SagaDetail>("operator", "/api/sagas/o-1/resume", why);
    expect(resumed).toMatchObject({ isPaused: false, paused: null });
    const { items } = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(items.map(({ action, target, outcome }) => [action, target, outcome])).toEqual([
      ["resume", { kind: "saga", id: "o-1" }, "done"],
      ["pause", { kind: "saga", id: "o-1" }, "done"],
    ]);
    expect(await amends.worker().runOnce()).toBe(1);
  });

  it("[S-44][P-04] the sagas and the calls of a name are paused, listed and resumed, each on record once", async () => {
    const { amends, get, post } = await scene(database);
    const paused = await post<PausedName>("operator", "/api/paused/sagas/place-order/pause", why);
    expect(paused).toMatchObject({ kind: "saga", name: "place-order", paused: { by: "Otto", ...why } });
    await post<PausedName>("operator", "/api/paused/calls/send-mail/pause", why);
    const { items } = await get<Page<PausedLine>>("reader", "/api/paused");
    expect(items.map(({ kind, id, name }) => [kind, id, name])).toEqual([
      ["saga", null, "place-order"],
      ["call", null, "send-mail"],
    ]);
    expect(await get<SagaDetail>("reader", "/api/sagas/o-1")).toMatchObject({
      isPaused: false,
      paused: { kind: "saga", by: "Otto" },
    });
    expect(await amends.worker().runOnce()).toBe(0);
    expect(await post("operator", "/api/paused/sagas/place-order/resume", why)).toMatchObject({
      changed: true,
    });
    expect(await post("operator", "/api/paused/sagas/place-order/resume", why)).toMatchObject({
      changed: false,
    });
    expect(await amends.worker().runOnce()).toBe(1);
    const audit = await get<Page<ActionLine>>("reader", "/api/audit");
    expect(audit.items.map(({ action, target: { kind, id } }) => `${action} ${kind} ${id}`)).toEqual([
      "resume sagas place-order",
      "resume sagas place-order",
      "pause calls send-mail",
      "pause sagas place-order",
    ]);
  });
});
