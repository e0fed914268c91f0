import { expect, it, vi } from "vitest";
import { sql } from "../../src/storage/sql.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { virtualClock } from "amends/testing";
import { nthClaim } from "../support/claims.ts";

import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { onEachForm, stage } from "./support/stage.ts";

const OK = { ok: true, code: "http_200" };
const BAD = { ok: false, code: "http_500" };
const SENT = {
  url: "https://a.example/hook",
  sentAtMs: 1,
  status: 500,
  durationMs: 1,
  responseHeaders: null,
  responseBody: null,
};
/** Errors after which nobody knows whether the commit happened, or that look like it. */
const LOST = { postgres: { code: "ECONNRESET" }, sqlite: { code: "SQLITE_BUSY" } } as const;

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-07] a result counts once: told again, under the same report or another, it changes nothing", async () => {
    const { db, subscribe, publish, rows, states, isSplit } = await stage(database);
    await subscribe("a");
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [task] = await take();
    if (!task) throw new Error("nothing was due");
    const report = newId();
    expect(await tell(task, BAD, report)).toBe("accepted");
    const before = await rows("webhook_delivery_sagas");
    expect(await tell(task, BAD, report)).toBe("accepted");
    expect(await tell(task, BAD)).toBe("repeated");
    expect(await tell(task, OK)).toBe("repeated");
    expect(await rows("webhook_delivery_sagas")).toEqual(before);
    expect(await states()).toEqual(["PendingRetry 1"]);
    expect((await rows("webhook_attempts")).map((row) => row["verdict"])).toEqual([
      "accepted",
      "repeated",
      "repeated",
    ]);
  });

  it("[W-07] the same report many times in one flush counts once", async () => {
    const { db, subscribe, publish, states, isSplit } = await stage(database);
    await subscribe("a");
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [task] = await take();
    if (!task) throw new Error("nothing was due");
    const report = newId();
    await Promise.all(Array.from({ length: 5 }, () => tell(task, OK, report)));
    const others = await Promise.all(Array.from({ length: 5 }, () => tell(task, BAD)));
    expect(others).toEqual(Array(5).fill("repeated"));
    expect(await states()).toEqual(["Completed 1"]);
  });

  it("[W-07][K-06] a result that comes after the lease was lost is noted as late", async () => {
    const clock = virtualClock();
    const { db, subscribe, publish, states, rows, isSplit } = await stage(database, {}, clock);
    await subscribe("a");
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [lost] = await take();
    clock.jump(60_001);
    const [held] = await take();
    if (!lost || !held) throw new Error("nothing was due");
    expect([lost, held]).toMatchObject([{ token: nthClaim(1) }, { id: lost.id, token: nthClaim(2) }]);
    expect(await tell(lost, OK)).toBe("late");
    expect(await states()).toEqual(["InProgress 0"]);
    expect(await tell(held, BAD)).toBe("accepted");
    expect(await tell(lost, OK)).toBe("late");
    expect(await states()).toEqual(["PendingRetry 1"]);
    expect((await rows("webhook_attempts")).map((row) => row["verdict"])).toEqual([
      "late",
      "accepted",
      "late",
    ]);
  });

  it("[W-07] a result of an earlier attempt does not touch the next one", async () => {
    const clock = virtualClock();
    const { db, subscribe, publish, states, isSplit } = await stage(database, {}, clock);
    await subscribe("a");
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [first] = await take();
    if (!first) throw new Error("nothing was due");
    const report = newId();
    await tell(first, BAD, report);
    clock.jump(30_000);
    const [second] = await take();
    expect(second?.job.attempt).toBe(2);
    expect(await tell(first, OK)).toBe("repeated");
    // As when the answer to the first commit was lost: the same report is on record, and is not applied again.
    expect(await tell(first, BAD, report)).toBe("accepted");
    expect(await states()).toEqual(["InProgress 1"]);
  });

  it("[W-07] a result of a job that does not exist, or of another delivery, is foreign", async () => {
    const { db, subscribe, publish, states, rows, isSplit } = await stage(database);
    await subscribe("a");
    await subscribe("b");
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [one, two] = await take();
    if (!one || !two) throw new Error("nothing was due");
    expect(await tell({ ...one, job: { ...one.job, id: "999999" } }, OK)).toBe("foreign");
    const { deliveryId } = two.job;
    expect(await tell({ ...one, job: { ...one.job, deliveryId, token: 9 } }, OK)).toBe("foreign");
    expect(await states()).toEqual(["InProgress 0", "InProgress 0"]);
    expect((await rows("webhook_attempts")).map((row) => row["verdict"])).toEqual(["foreign", "foreign"]);
  });

  it("[W-07][K-05] a late, a repeated and a foreign result among good ones take nothing away from them", async () => {
    const clock = virtualClock();
    const { db, subscribe, publish, rows, isSplit } = await stage(database, {}, clock);
    for (const name of ["a", "b", "c", "d", "e"]) await subscribe(name);
    await publish();
    const { take, tell } = parts(db, { isSplit });
    const [late] = await take(1);
    if (!late) throw new Error("nothing was due");
    clock.jump(60_001);
    const [held, repeated, one, two, dying] = await take();
    if (!held || !repeated || !one || !two || !dying) throw new Error("not all were due");
    expect(await tell(repeated, OK)).toBe("accepted");
    const verdicts = await Promise.all([
      tell(late, BAD),
      tell(repeated, BAD),
      tell({ ...one, job: { ...one.job, deliveryId: two.job.deliveryId, token: 9 } }, BAD),
      tell(held, OK),
      tell(two, BAD),
      tell(dying, { ...BAD, final: true }),
    ]);
    expect(verdicts).toEqual(["late", "repeated", "foreign", "accepted", "accepted", "accepted"]);
    const found = new Map(
      (await rows("webhook_delivery_sagas")).map((row) => [String(row["id"]), row["status"]]),
    );
    const now = [held, repeated, one, two, dying].map(({ job }) => found.get(job.deliveryId));
    expect(now).toEqual(["Completed", "Completed", "InProgress", "PendingRetry", "DeadLettered"]);
    expect(await rows("dead_letters")).toHaveLength(1);
    expect(await rows("webhook_attempts")).toHaveLength(7);
  });

  it("[W-07][K-12] a flush whose answer was lost is repeated, counts no failure twice, and tells of what is dead", async () => {
    const { db, clock, subscribe, publish, rows, isSplit } = await stage(database);
    for (const name of ["a", "b"]) await subscribe(name);
    await publish();
    const told: string[] = [];
    let writes = 0;
    const lose = async <T>(write: () => Promise<T>): Promise<T> => {
      const done = await write();
      if (writes++ === 0) throw Object.assign(new Error("the answer was lost"), LOST[db.dialect.name]);
      return done;
    };
    const lossy = new Proxy(db, {
      get: (target, name) => {
        const found: unknown = Reflect.get(target, name, target);
        if (typeof found !== "function") return found;
        const call = (...given: unknown[]): unknown => Reflect.apply(found, target, given);
        return name === "batch" ? (...given: unknown[]) => lose(async () => call(...given)) : call;
      },
    });
    const { take } = parts(db, { isSplit });
    const { write, deliverySender } = parts(lossy, { isSplit, onDead: (ids) => told.push(...ids) });
    const [failing, dying] = await take();
    if (!failing || !dying) throw new Error("nothing was due");
    const telling = Promise.all([
      write(deliverySender.report(failing, BAD, SENT)),
      write(deliverySender.report(dying, { ...BAD, final: true }, SENT)),
    ]);
    await vi.waitFor(async () => {
      await clock.advance(50);
      expect(writes).toBeGreaterThan(1);
    });
    expect(await telling).toEqual(["accepted", "accepted"]);
    expect((await rows("webhook_delivery_sagas")).map((row) => Number(row["attempt_count"]))).toEqual([1, 1]);
    const lanes = await db.query(sql`select failures from ${db.dialect.table("webhook_lanes")}`);
    expect(lanes.map((row) => Number(row["failures"]))).toEqual([1, 1]);
    expect(told).toEqual([dying.job.deliveryId]);
    expect(await rows("dead_letters")).toHaveLength(1);
  });

  it("[W-19] a failure of something that was never sent says nothing about its subscription", async () => {
    const { db, subscribe, publish, isSplit } = await stage(database);
    for (const name of ["a", "b"]) await subscribe(name);
    await publish();
    const { take, tell, write, deliverySender } = parts(db, { isSplit });
    const [unsent, sent] = await take();
    if (!unsent || !sent) throw new Error("nothing was due");
    expect(await tell(unsent, { ok: false, code: "lease_expired" })).toBe("accepted");
    expect(await write(deliverySender.report(sent, BAD, SENT))).toBe("accepted");
    const lanes = await db.query(sql`select * from ${db.dialect.table("webhook_lanes")}`);
    expect(lanes.map((row) => String(row["subscription_id"]))).toEqual([sent.job.subscriptionId]);
  });

  it("[W-09] a success clears the last error, and the attempts keep it", async () => {
    const { amends, subscribe, publish, work, later, world } = await stage(database);
    world.answer = (_, nth) => (nth === 1 ? { ok: false, code: "connect_timeout" } : {});
    await subscribe("a");
    await publish();
    await work();
    const [failing] = await amends.webhooks.deliveries();
    expect(failing).toMatchObject({ status: "PendingRetry", errorCode: "connect_timeout" });
    await later(30_000);
    const [arrived] = await amends.webhooks.deliveries();
    expect(arrived).toMatchObject({ status: "Completed", attemptCount: 2, errorCode: undefined });
    const codes = (await amends.webhooks.attempts(arrived?.id as string)).map(({ code }) => code);
    expect(codes).toEqual(["connect_timeout", "http_200"]);
  });
});
