import { ok, saga, type Amends } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Checkpoint, SagaRecord } from "../../src/sagas/journal/journal.ts";
import { onEachDatabase } from "../support/databases.ts";
import { transactionOn } from "../sagas/support/effects-table.ts";
import { checkpointOf, done, journalOn, KIND, LEASE_MS, newSaga } from "./support/sagas.ts";
import { appended } from "../support/appended.ts";

onEachDatabase((database) => {
  it("[K-17] one line that the database refuses costs none of the others in its flush", async () => {
    const journal = journalOn(await database.open());
    const ids = Array.from({ length: 21 }, (_, n) => `saga-${String(n).padStart(2, "0")}`);
    await Promise.all(ids.map((id) => journal.create(newSaga(id))));
    const records = await journal.claim([KIND], ids.length, "me", LEASE_MS);
    const lines = records.map((record): Checkpoint => {
      const line = checkpointOf(record, done("one"));
      // The database's own CHECK refuses this one.
      return record.id === "saga-07" ? { ...line, entry: { ...line.entry, action: "bogus" as "act" } } : line;
    });
    const answers = await Promise.allSettled(lines.map((line) => appended(journal, line)));
    const refused = answers.filter((answer) => answer.status === "rejected");
    expect(refused).toHaveLength(1);
    expect((refused[0] as PromiseRejectedResult).reason).toMatchObject({ code: "DATABASE_REFUSED" });
    for (const { id } of records) {
      const { state } = (await journal.load(id)) as SagaRecord;
      expect([id, state.steps[0]?.act]).toEqual([id, id === "saga-07" ? "begun" : "done"]);
    }
  });

  it("[K-17] one start that the database refuses costs none of the others in its flush", async () => {
    const journal = journalOn(await database.open());
    const starts = Array.from({ length: 9 }, (_, n) => ({
      ...newSaga(`saga-${n}`),
      // No integer: neither database stores it.
      ...(n === 4 && { definition: "one" as unknown as number }),
    }));
    const answers = await Promise.allSettled(starts.map((start) => journal.create(start)));
    expect(answers.map(({ status }) => status)).toEqual(
      starts.map((_, n) => (n === 4 ? "rejected" : "fulfilled")),
    );
    for (let n = 0; n < 9; n++) expect((await journal.load(`saga-${n}`)) === undefined).toBe(n === 4);
  });

  it("[K-17] a result that cannot be stored ends its own saga, and the others go on", async () => {
    const undone: string[] = [];
    const mixed = saga("mixed", z.object({ n: z.number() }))
      .step("one", { act: () => "1", compensate: ({ sagaId }) => void undone.push(sagaId) })
      .step("two", {
        act: ({ input }): unknown => {
          if (input.n === 3) return "x".repeat(1_048_577);
          if (input.n === 5) return 1n;
          if (input.n === 7) throw new TypeError("no");
          return ok(input.n);
        },
        retry: { attempts: 1 },
      });
    const amends = await database.amends({ sagas: [mixed] });
    await database.worker(amends);
    const runs = await Promise.all(
      Array.from({ length: 10 }, (_, n) => amends.start(mixed, { n }, { id: `saga-${n}` })),
    );
    const outcomes = await Promise.all(runs.map((run) => run.result()));
    const failed = new Map([
      [3, "unfit"],
      [5, "unfit"],
      [7, "exhausted"],
    ]);
    outcomes.forEach((outcome, n) => {
      const kind = failed.get(n);
      expect(outcome).toMatchObject(kind ? { status: "FAILED", error: { kind } } : { status: "COMPLETED" });
    });
    expect(undone.toSorted()).toEqual(["saga-3", "saga-5", "saga-7"]);
  });

  it("[K-17] a start from inside a transactional step costs no other saga its checkpoint", async () => {
    const refusals: unknown[] = [];
    const bugs: unknown[] = [];
    const child = saga("child", z.object({})).step("one", { act: () => 1 });
    const its: { amends?: Amends } = {};
    const careless = saga("careless", z.object({})).step("one", {
      transaction: transactionOn(database.name),
      act: async () => {
        // Forgets its `tx`: the database has one connection for both.
        await its.amends?.start(child, {}).catch((error: unknown) => refusals.push(error));
      },
    });
    const busy = saga("busy", z.object({}))
      .step("one", { act: () => 1 })
      .step("two", { act: () => 2 })
      .step("three", { act: () => 3 });
    const amends = await database.amends({
      sagas: [child, careless, busy],
      connections: 1,
      logger: { info: () => undefined, warn: () => undefined, error: (fields) => void bugs.push(fields) },
    });
    its.amends = amends;
    await database.worker(amends);
    const runs = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 8 === 0 ? amends.start(careless, {}) : amends.start(busy, {}),
      ),
    );
    const outcomes = await Promise.all(runs.map((run) => run.result()));
    expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["COMPLETED"]));
    expect(refusals).toHaveLength(5);
    for (const refusal of refusals) expect(refusal).toMatchObject({ code: "NEEDS_TRANSACTION" });
    expect(bugs).toEqual([]);
    expect(amends.counters.lost).toBe(0);
  });
});
