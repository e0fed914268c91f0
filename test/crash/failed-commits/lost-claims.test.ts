/** Lost claims and connections in one process: minimal tests of bugs that the crash matrix has found. */
import { nthClaim } from "../../support/claims.ts";
import { FIRST_CLAIM } from "../../support/claims.ts";
import type pg from "pg";
import { describe, expect, it } from "vitest";
import { decodePlan } from "../../../src/core/saga/plan.ts";
import { initial } from "../../../src/core/saga/state.ts";
import { DatabaseJournal } from "../../../src/sagas/journal/database-journal.ts";
import type { Checkpoint, NewSaga, SagaRecord } from "../../../src/sagas/journal/journal.ts";
import { raw, sql } from "../../../src/storage/sql.ts";
import { onDatabase, onEachDatabase } from "../../support/databases.ts";
import { checkSagaInvariants } from "../checkers/saga-invariants.ts";
import { appended } from "../../support/appended.ts";

const plan = decodePlan("reserve~ charge");
const parcel: NewSaga = {
  id: "one",
  name: "parcel",
  definition: 1,
  input: "{}",
  plan,
  deadlineMs: undefined,
  owner: "first",
  token: FIRST_CLAIM,
  leaseMs: 1,
  interests: [],
  gate: undefined,
  priority: 0,
  attributes: undefined,
};

onEachDatabase((database) => {
  it("[K-06][S-15] a lost claim is refused also if its successor writes in the same commit", async () => {
    const db = await database.open();
    const journal = new DatabaseJournal({ db });
    await journal.create(parcel);
    const kinds = [{ name: "parcel", version: 1, plan, deadlineMs: undefined }];
    let claimed: readonly SagaRecord[] = [];
    while (claimed.length === 0) claimed = await journal.claim(kinds, 1, "second", 60_000);
    expect(claimed[0]).toMatchObject({ token: nthClaim(2), version: 2 });

    const line = (token: number, version: number, status: "STARTED" | "COMPLETED"): Checkpoint => ({
      sagaId: "one",
      epoch: 0,
      token,
      version,
      entry: { step: "reserve", action: "act", status, details: null },
      emissions: [],
      move: undefined,
      state: initial(plan, true),
    });
    // A process that was stopped past its lease runs the saga twice: under its lost claim, and as its own successor.
    const answers = await Promise.all([
      appended(journal, line(FIRST_CLAIM, 2, "COMPLETED")),
      appended(journal, line(claimed[0]?.token ?? 0, 3, "STARTED")),
    ]);
    expect(answers).toEqual([false, true]);
    expect(await checkSagaInvariants(db)).toEqual([]);
  });
});

describe("connections", () => {
  onDatabase("postgres", (database) => {
    it("[K-12] a connection that breaks inside a transaction is a database error and does not end the process", async () => {
      const db = await database.open({ connections: 2 });
      const broken = db.transaction(async (session, tx) => {
        const ended = new Promise<void>((resolve) => void (tx as pg.Client).once("end", resolve));
        const [row] = await session.query(raw("select pg_backend_pid() as pid"));
        const pid = Number(row?.["pid"]);
        await db.query(sql`select pg_terminate_backend(${pid}::int)`);
        await ended;
        return session.query(raw("select 1"));
      });
      const error: unknown = await broken.catch((thrown: unknown) => thrown);
      expect(db.dialect.trouble(error).kind).toBe("unknown");
      expect(await db.query(raw("select 1 as one"))).toEqual([{ one: 1 }]);
    });
  });
});
