/** The cases of a Restate server that `npm test` runs; `npm run restate` runs all of them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { RestateSagas } from "amends/restate";
import { until } from "../support/until.ts";
import { openBoth, playOnBoth, type Both } from "./support/both.ts";
import { storiesOn, type Story } from "./support/stories.ts";

let both: Both;
beforeAll(async () => {
  both = await openBoth(storiesOn, false);
});
afterAll(() => both?.close());

it("[R-04] a saga of five steps is undone on Restate as on SQLite, line for line", async () => {
  const { onRestate, onSqlite } = await playOnBoth(both, storiesOn, "is-refused-and-undone");
  expect(onRestate).toEqual(onSqlite);
  expect(onSqlite.lines.length).toBeGreaterThan(0);
});

it("[R-05] a stalled saga on Restate is listed, and an operator ends it", async () => {
  const { ingress, admin } = both.server;
  const sagas = new RestateSagas({ ingress, admin });
  const { saga } = storiesOn(both.restate.ledger)["stays-stalled"] as Story;
  const run = await sagas.start(saga, {}, { id: "listed" });
  expect(await run.result()).toMatchObject({ status: "STALLED", step: "b" });
  const listed = await until(async () => {
    const found = await sagas.list(saga, { status: "STALLED" });
    return found.length > 0 && found;
  });
  expect(listed).toEqual([{ id: "listed", name: "stays-stalled", status: "STALLED" }]);
  await run.resolve("FAILED", { reason: "ticket 17", by: "ann" });
  expect(await run.result()).toMatchObject({ status: "FAILED" });
});
