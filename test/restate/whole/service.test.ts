/** Sagas on a Restate server, from outside: ids, lists, and what operators and Restate's own interface do. */
import { saga } from "amends";
import { RestateSagas } from "amends/restate";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openBoth, type Both } from "../support/both.ts";
import { storiesOn, type Story } from "../support/stories.ts";
import { until } from "../../support/until.ts";

let both: Both;
let sagas: RestateSagas;

const story = (name: string): Story => storiesOn(both.restate.ledger)[name] as Story;

beforeAll(async () => {
  both = await openBoth(storiesOn, false);
  const { ingress, admin } = both.server;
  sagas = new RestateSagas({ ingress, admin });
});
afterAll(() => both?.close());

describe("starts on Restate", () => {
  it("[R-04] the same id with the same input is the same saga, with other input it is refused", async () => {
    const { saga: made } = story("completes");
    const first = await sagas.start(made, {}, { id: "twice" });
    const again = await sagas.start(made, {}, { id: "twice" });
    expect([first.created, again.created]).toEqual([true, false]);
    expect(await again.result()).toEqual(await first.result());
    expect((await sagas.start(made, {}, { id: "twice" })).created).toBe(false);
    expect(both.restate.ledger.of("twice").length).toBe(5);
    const other = saga("completes", z.object({ more: z.number() }), { version: 1 }).step("a", {
      act: () => 1,
    });
    await expect(sagas.start(other, { more: 1 }, { id: "twice" })).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
    });
  });

  it("[R-04] a saga that nobody started is not found, and one that nobody serves is named", async () => {
    await expect(sagas.find(story("completes").saga, "nobody").status()).rejects.toMatchObject({
      code: "SAGA_NOT_FOUND",
    });
    const unserved = saga("unserved", z.object({})).step("a", { act: () => 1 });
    await expect(sagas.start(unserved, {})).rejects.toMatchObject({ code: "UNKNOWN_SAGA" });
  });
});

describe("operators on Restate", () => {
  it("[R-05] stalled sagas are listed, and their actions are those of a database", async () => {
    const { saga: made } = story("stays-stalled");
    const run = await sagas.start(made, {}, { id: "listed" });
    expect(await run.result()).toMatchObject({ status: "STALLED", id: "listed" });
    const listed = await until(async () => {
      const found = await sagas.list(made, { status: "STALLED" });
      return found.length > 0 && found;
    });
    expect(listed).toEqual([{ id: "listed", name: "stays-stalled", status: "STALLED" }]);
    const view = await run.view();
    expect(view).toMatchObject({
      status: "STALLED",
      actions: ["retry", "skip", "resolve"],
      skippable: ["b"],
    });
    const note = { reason: "ticket 17", by: "ann" };
    await expect(run.skip("a", note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await expect(run.resolve("FAILED", { ...note, revision: 1 })).rejects.toMatchObject({
      code: "SAGA_CONCURRENCY",
    });
    await expect(run.retry({ reason: "" })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await run.resolve("FAILED", { ...note, revision: view.revision });
    expect(await run.result()).toMatchObject({ status: "FAILED" });
    await expect(run.retry(note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    const { timeline } = await run.view();
    expect(timeline.at(-1)).toMatchObject({
      name: "resolve",
      note: expect.stringContaining("ticket 17") as unknown,
    });
  });

  it("[R-05] Restate's own cancellation turns a saga back, as a cancel does", async () => {
    const run = await sagas.start(story("is-cancelled").saga, {}, { id: "cancelled-in-restate" });
    await until(() => both.restate.ledger.count(run.id, "b") > 0);
    const { admin } = both.server;
    const query = `select id from sys_invocation where target_service_key = '${run.id}' and target_handler_name = 'run'`;
    const answer = await fetch(`${admin}/query`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify({ query }),
    });
    const { rows } = (await answer.json()) as { rows: { id: string }[] };
    const cancelled = await fetch(`${admin}/invocations/${rows[0]?.id}/cancel`, { method: "PATCH" });
    expect(cancelled.ok).toBe(true);
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(both.restate.ledger.of(run.id)).toEqual(["a", "b", "undo a"]);
  });

  it("[R-05] a wait for a saga ends at its timeout, and the saga goes on", async () => {
    const run = await sagas.start(story("repeats-until-a-signal").saga, {}, { id: "patient" });
    await expect(run.result({ timeout: "300ms" })).rejects.toMatchObject({ code: "STOPPED_WAITING" });
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: "FAILED" });
  });
});
