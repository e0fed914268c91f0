import { expect, it } from "vitest";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { insertRow, journalOn, KIND, LEASE_MS, newSaga } from "./support/sagas.ts";

onEachDatabase((database) => {
  it("[K-03] a gate that is empty, past or exactly now is due, one a millisecond ahead is not", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    for (const [id, gateMs] of [
      ["empty", null],
      ["long-past", -86_400_000],
      ["past", -1],
      ["now", 0],
      ["ahead", 1],
    ] as const) {
      await insertRow(db, id, { gateMs });
    }
    const ids = async (): Promise<string[]> =>
      (await journalOn(db).claim([KIND], 100, "me", LEASE_MS)).map((record) => record.id).toSorted();
    expect(await ids()).toEqual(["empty", "long-past", "now", "past"]);
    await clock.advance(1);
    expect(await ids()).toEqual(["ahead"]);
  });

  it("[K-03] what has ended and what waits for a person is never due", async () => {
    const db = await database.open();
    for (const status of ["PENDING", "RUNNING", "COMPENSATING", "STALLED", "COMPLETED", "FAILED"]) {
      await insertRow(db, status, { status });
    }
    const claimed = await journalOn(db).claim([KIND], 100, "me", LEASE_MS);
    expect(claimed.map((record) => record.id).toSorted()).toEqual(["COMPENSATING", "PENDING", "RUNNING"]);
  });

  it("[K-03] a claimed row is due again exactly when its lease is over", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const journal = journalOn(db);
    await journal.create(newSaga("one"));
    const claim = async (): Promise<number> => (await journal.claim([KIND], 5, "me", LEASE_MS)).length;
    expect(await claim()).toBe(1);
    await clock.advance(LEASE_MS - 1);
    expect(await claim()).toBe(0);
    await clock.advance(1);
    expect(await claim()).toBe(1);
  });
});
