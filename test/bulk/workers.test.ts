/** Workers that carry bulk actions out: one that dies, two at once, one that stops, and what a stop leaves. */
import { Amends } from "amends";
import { expect, it } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { mortal } from "./support/mortal.ts";
import { NOTE, numberedIds, scene, type Scene } from "./support/scene.ts";

const LEASE_MS = 60_000;

/** How often each item was asked for and ended on record. */
async function itemsOnRecord({ db }: Scene, bulk: string): Promise<Readonly<Record<string, string>>> {
  const rows = await db.query(
    sql`select target_id, outcome from ${db.dialect.table("operator_actions")} where id like ${`bulk:${bulk}:%`} order by target_id, outcome`,
  );
  const found: Record<string, string> = {};
  for (const { target_id: id, outcome } of rows as readonly Record<string, string>[])
    found[id as string] = `${found[id as string] ?? ""} ${outcome}`.trim();
  return found;
}

onEachDatabase((database) => {
  it("[S-43] a worker that dies at any point is followed by another: each item is done, counted and on record once", async () => {
    let points = Infinity;
    for (const when of ["before", "after"] as const) {
      for (let dieAt = 0; dieAt <= points; dieAt++) {
        const at = await scene(database);
        await at.add(["s-1", "s-2", "s-3"]);
        at.world.isDown = false;
        const start = { action: "retry", ids: ["s-1", "no", "s-2", "s-3"], ...NOTE, id: "b" } as const;
        await at.amends.bulk.start(start);
        const process = mortal(await database.open({ clock: at.clock }), dieAt, when);
        const dying = new Amends({ sagas: [at.order], database: process.database });
        const worker = dying.worker({ only: ["bulk"] });
        await Promise.race([worker.runOnce(), process.gone]);
        points = Math.min(points, process.calls() < dieAt ? process.calls() : Infinity);
        at.clock.jump(LEASE_MS + 1);
        await at.work();
        const view = await at.amends.bulk.get("b");
        expect(view, `${when} ${dieAt}`).toMatchObject({ status: "completed", done: 3, refused: 1 });
        expect(view.refusals).toEqual([{ id: "no", code: "SAGA_NOT_FOUND" }]);
        expect(await at.lines("$retry")).toEqual({ "s-1": 1, "s-2": 1, "s-3": 1 });
        expect(await itemsOnRecord(at, "b")).toEqual({
          "s-1": "asked done",
          "s-2": "asked done",
          "s-3": "asked done",
          no: "asked refused",
        });
        await at.amends.close();
        await database.forget();
      }
    }
    expect(points).toBeGreaterThan(8);
  });

  it("[S-43] items of a filter that a dead worker has carried out are counted by the worker that follows", async () => {
    const at = await scene(database);
    await at.add(numberedIds("s", 70));
    at.world.isDown = false;
    await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "b" });
    const process = mortal(await database.open({ clock: at.clock }), 40, "after");
    const dying = new Amends({ sagas: [at.order], database: process.database });
    await Promise.race([dying.worker({ only: ["bulk"] }).runOnce(), process.gone]);
    const { done } = await at.amends.bulk.get("b");
    expect(done).toBe(0);
    expect(Object.keys(await at.lines("$retry")).length).toBeGreaterThan(10);
    at.clock.jump(LEASE_MS + 1);
    await at.work();
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "completed", done: 70, refused: 0 });
    expect(at.world.undone).toHaveLength(70);
  });

  it("[S-43] a worker that was frozen and wakes up after another has followed it does nothing twice", async () => {
    const at = await scene(database);
    await at.add(["s-1", "s-2"]);
    await at.amends.bulk.start({ action: "retry", ids: ["s-1", "s-2"], ...NOTE, id: "b" });
    const inner = await database.open({ clock: at.clock });
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve) => (wake = resolve));
    let transactions = 0;
    let isFrozen: () => void = () => undefined;
    const frozen = new Promise<void>((resolve) => (isFrozen = resolve));
    const slow = mortal(inner, Infinity, "after").database;
    const sleeper = await database.amends({
      sagas: [at.order],
      database: {
        ...slow,
        transaction: async (work, foreign) => {
          if (transactions++ === 0) {
            isFrozen();
            await woken;
          }
          return slow.transaction(work, foreign);
        },
      },
    });
    const late = sleeper.worker({ only: ["bulk"] }).runOnce();
    await frozen;
    at.clock.jump(LEASE_MS + 1);
    await at.work();
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "completed", done: 2 });
    wake();
    await late;
    // Both have stalled again: a second retry would have been possible.
    expect((await at.amends.count({ status: "STALLED" })).value).toBe(2);
    expect(await at.lines("$retry")).toEqual({ "s-1": 1, "s-2": 1 });
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "completed", done: 2, refused: 0 });
  });

  it("[S-43] two workers at once carry each item out once", async () => {
    const at = await scene(database);
    const ids = numberedIds("s", 130);
    await at.add(ids);
    at.world.isDown = false;
    for (const id of ["a", "b"])
      await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id });
    const other = await database.amends({ sagas: [at.order], clock: at.clock });
    await Promise.all([at.amends, other].map((amends) => amends.worker({ only: ["bulk"] }).runOnce()));
    await at.work();
    const views = [await at.amends.bulk.get("a"), await at.amends.bulk.get("b")];
    expect(views.map(({ status }) => status)).toEqual(["completed", "completed"]);
    expect(views.reduce((sum, { done }) => sum + done, 0)).toBe(130);
    expect(await at.lines("$retry")).toEqual(Object.fromEntries(ids.map((id) => [id, 1])));
  });

  it("[S-43] a stop ends a bulk action after the page under way, with its reason, and what is left stays as it was", async () => {
    const at = await scene(database);
    await at.add(numberedIds("s", 120));
    await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "b" });
    const inner = await database.open({ clock: at.clock });
    let transactions = 0;
    const counting = mortal(inner, Infinity, "after").database;
    const worker = await database.amends({
      sagas: [at.order],
      database: {
        ...counting,
        transaction: async (work, foreign) => {
          if (++transactions === 20)
            await at.amends.bulk.stop("b", { reason: "too many at once", by: "ben" });
          return counting.transaction(work, foreign);
        },
      },
    });
    await worker.worker({ only: ["bulk"] }).runOnce();
    expect(await at.amends.bulk.get("b")).toMatchObject({
      status: "stopped",
      done: 50,
      refused: 0,
      stop: { reason: "too many at once", by: "ben" },
    });
    expect(Object.keys(await at.lines("$retry"))).toHaveLength(50);
    expect((await at.recorded("b")).map(({ action, reason, by }) => [action, reason, by])).toContainEqual([
      "stop",
      "too many at once",
      "ben",
    ]);
    const stopped = await at.amends.bulk.get("b");
    expect(await at.amends.bulk.stop("b", { reason: "again" })).toEqual(stopped);
    await at.work();
    expect(await at.amends.bulk.get("b")).toEqual(stopped);
  });

  it("[S-43] one that no worker has begun is stopped at once; one whose worker died is counted before it ends", async () => {
    const at = await scene(database);
    await at.add(["s-1", "s-2"]);
    await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "a" });
    expect(await at.amends.bulk.stop("a", NOTE)).toMatchObject({ status: "stopped", done: 0 });
    await at.work();
    expect(await at.lines("$retry")).toEqual({});
    at.world.isDown = false;
    await at.amends.bulk.start({ action: "retry", ids: ["s-1", "s-2"], ...NOTE, id: "b" });
    const inner = await database.open({ clock: at.clock });
    let transactions = 0;
    const counting = mortal(inner, Infinity, "after").database;
    let die: () => void = () => undefined;
    const dead = new Promise<void>((resolve) => (die = resolve));
    const dying = new Amends({
      sagas: [at.order],
      database: {
        ...counting,
        transaction: async (work, foreign) => {
          if (transactions++ === 0) return counting.transaction(work, foreign);
          die();
          return new Promise<never>(() => undefined);
        },
      },
    });
    await Promise.race([dying.worker({ only: ["bulk"] }).runOnce(), dead]);
    expect(await at.amends.bulk.stop("b", NOTE)).toMatchObject({ status: "stopping" });
    at.clock.jump(LEASE_MS + 1);
    await at.work();
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "stopped", done: 1, refused: 0 });
    expect(await at.lines("$retry")).toEqual({ "s-1": 1 });
  });

  it("[S-43] a stopped one is repeated over what is left, and a completed one over what was refused", async () => {
    const at = await scene(database);
    await at.add(["s-1", "s-2", "s-3"]);
    await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "a" });
    await expect(at.amends.bulk.repeat("a", NOTE)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await at.amends.bulk.stop("a", NOTE);
    at.world.isDown = false;
    const again = await at.amends.bulk.repeat("a", { reason: "now it is back", id: "b" });
    expect(again).toMatchObject({ id: "b", action: "retry", reason: "now it is back", total: 3 });
    await at.work();
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "completed", done: 3 });
    await at.amends.bulk.start({ action: "retry", ids: ["s-1", "late"], ...NOTE, id: "c" });
    await at.work();
    expect(await at.amends.bulk.get("c")).toMatchObject({ done: 0, refused: 2 });
    at.world.isDown = true;
    await at.add(["late"]);
    at.world.isDown = false;
    expect(await at.amends.bulk.repeat("c", { ...NOTE, id: "d" })).toMatchObject({ total: 2 });
    await at.work();
    expect(await at.amends.bulk.get("d")).toMatchObject({ done: 1, refused: 1 });
    expect(await at.amends.bulk.repeat("d", { ...NOTE, id: "e" })).toMatchObject({ total: 1 });
    await expect(at.amends.bulk.repeat("d", { reason: "" })).rejects.toMatchObject({ code: "BAD_OPTION" });
  });

  it("[S-43] a worker that stops leaves the rest of a page to the next one, at once", async () => {
    const at = await scene(database);
    await at.add(numberedIds("s", 60));
    at.world.isDown = false;
    const inner = await database.open();
    let items = 0;
    const counting = mortal(inner, Infinity, "after").database;
    let stopping: Promise<void> | undefined;
    const amends = await database.amends({
      sagas: [at.order],
      database: {
        ...counting,
        transaction: async (work, foreign) => {
          if (++items === 10) stopping = worker.stop();
          return counting.transaction(work, foreign);
        },
      },
    });
    const worker = amends.worker({ only: ["bulk"] });
    await at.amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE, id: "b" });
    await worker.start();
    await until(() => stopping !== undefined);
    await stopping;
    const carriedOut = Object.keys(await at.lines("$retry")).length;
    expect(carriedOut).toBeGreaterThan(0);
    expect(carriedOut).toBeLessThan(60);
    const next = await database.amends({ sagas: [at.order] });
    await next.worker({ only: ["bulk"] }).runOnce();
    expect(await at.amends.bulk.get("b")).toMatchObject({ status: "completed", done: 60, refused: 0 });
  });
});
