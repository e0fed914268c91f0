import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { control } from "../../src/core/saga/entry.ts";
import type { SagaRecord } from "../../src/sagas/journal/journal.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gate } from "../sagas/support/gate.ts";
import { checkpointOf, done, journalOn, KIND, LEASE_MS, newSaga } from "./support/sagas.ts";
import { appended } from "../support/appended.ts";

onEachDatabase((database) => {
  it("[K-06] a late worker's checkpoint, release and end change nothing after another has claimed", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const journal = journalOn(db);
    await journal.create(newSaga("one"));
    const [late] = (await journal.claim([KIND], 1, "late", LEASE_MS)) as [SagaRecord];
    await clock.advance(LEASE_MS);
    const [current] = (await journal.claim([KIND], 1, "current", LEASE_MS)) as [SagaRecord];
    const before = await journal.load("one");
    for (const line of [
      checkpointOf(late, done("one")),
      checkpointOf(late, control("$release", {}), 0),
      checkpointOf(late, control("$stall", { kind: "recoveries" })),
      checkpointOf(late, {
        step: "one",
        action: "act",
        status: "FAILED",
        details: '{"kind":"err","label":"no"}',
      }),
    ]) {
      expect(await appended(journal, line)).toBe(false);
    }
    expect(await journal.load("one")).toEqual(before);
    expect(
      await appended(
        journal,
        checkpointOf(current, { step: "one", action: "act", status: "STARTED", details: null }),
      ),
    ).toBe(true);
  });

  it("[K-06] the same holds where the late line and the current one travel in one flush", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    await journal.create(newSaga("one"));
    const [late] = (await journal.claim([KIND], 1, "late", LEASE_MS)) as [SagaRecord];
    await clock.advance(LEASE_MS);
    const [current] = (await journal.claim([KIND], 1, "current", LEASE_MS)) as [SagaRecord];
    const started = { step: "one", action: "act", status: "STARTED", details: null } as const;
    const answers = await Promise.all([
      appended(journal, checkpointOf(late, done("one"))),
      appended(journal, checkpointOf(current, started)),
    ]);
    expect(answers).toEqual([false, true]);
  });

  it("[K-06] a renewal under an old token is told that the claim was lost, and moves no gate", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const journal = journalOn(db);
    await journal.create(newSaga("one"));
    const [late] = (await journal.claim([KIND], 1, "late", LEASE_MS)) as [SagaRecord];
    await clock.advance(LEASE_MS);
    const [current] = (await journal.claim([KIND], 1, "current", LEASE_MS)) as [SagaRecord];
    const before = await journal.load("one");
    expect([...(await journal.renew([late], 10 * LEASE_MS))]).toEqual([]);
    expect((await journal.load("one"))?.dueAtMs).toBe(before?.dueAtMs);
    expect((await journal.renew([current], 10 * LEASE_MS)).has("one")).toBe(true);
    expect((await journal.load("one"))?.dueAtMs).toBe(clock.virtualNowMs() + 10 * LEASE_MS);
  });

  it("[K-06] a renewal that was under way when the saga was given back does not close its gate again", async () => {
    const clock = virtualClock();
    const journal = journalOn(await database.open({ clock }));
    for (const [id, releaseMs] of [
      ["in-an-hour", 3_600_000],
      ["at-once", 0],
    ] as const) {
      await journal.create(newSaga(id));
      const [record] = (await journal.claim([KIND], 1, "me", LEASE_MS)) as [SagaRecord];
      expect(await appended(journal, checkpointOf(record, control("$release", {}), releaseMs))).toBe(true);
      expect([...(await journal.renew([{ id, token: record.token }], LEASE_MS))]).toEqual([]);
      expect((await journal.load(id))?.dueAtMs).toBe(clock.virtualNowMs() + releaseMs);
    }
  });

  it("[K-06] the worker that lost its claim is told, writes nothing, and its counter rises", async () => {
    const held = gate<string>();
    const acts: number[] = [];
    const slow = saga("slow", z.object({})).step("one", {
      act: ({ attempt }) => {
        acts.push(attempt);
        return attempt === 1 ? held.pass() : "second";
      },
    });
    // The first one's clock stands still: it never renews.
    const firstClock = virtualClock();
    const secondClock = virtualClock();
    const first = await database.amends({ sagas: [slow], clock: firstClock });
    const second = await database.amends({ sagas: [slow], clock: secondClock });
    await database.worker(first);
    const run = await first.start(slow, {}, { id: "one" });
    await held.reached;
    secondClock.jump(LEASE_MS);
    expect(await second.worker().runOnce()).toBe(1);
    const ended = await second.inspect("one");
    expect(ended).toMatchObject({ status: "COMPLETED", results: { one: "second" } });
    held.open("first");
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { one: "second" } });
    expect(await second.inspect("one")).toEqual(ended);
    await expect.poll(() => first.counters).toMatchObject({ lost: 1, completed: 0 });
    expect(second.counters).toMatchObject({ lost: 0, recovered: 1, completed: 1 });
    expect(acts).toEqual([1, 2]);
  });
});
