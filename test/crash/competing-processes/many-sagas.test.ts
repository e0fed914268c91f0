/** Two processes with workers on one database, of which one is killed repeatedly. */
import { Amends } from "amends";
import { expect, it } from "vitest";
import { CLAIMABLE } from "../../../src/core/saga/machine.ts";
import type { Database } from "../../../src/storage/database.ts";
import { literals, raw, sql } from "../../../src/storage/sql.ts";
import { Effects } from "../external-world/effects.ts";
import { checkSagaInvariants } from "../checkers/saga-invariants.ts";
import { parcel } from "./many-sagas.ts";
import type { ManySagasInstructions } from "./many-sagas-worker.ts";
import { openSandbox } from "../harness/sandbox.ts";
import { bundled } from "../child-processes/bundle.ts";
import { Child } from "../child-processes/child.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";

const SIZES = { postgres: 5_000, sqlite: 500 } as const;
const KILLS = 6;
const MORE = 100;

onEachDialect((sandboxes) => {
  const sagas = SIZES[sandboxes.dialect];

  it(
    `[K-04][S-16][S-17] ${sagas} sagas on two processes, one killed ${KILLS} times, each end once, and no step is called more often than its saga was claimed`,
    { timeout: 90_000 },
    async () => {
      const sandbox = await sandboxes.create();
      const database = await openSandbox(sandbox);
      await startAll(database, 0, sagas);
      let started: number = sagas;
      const root = await bundled();
      const work = (instructions: Omit<ManySagasInstructions, "sandbox">): Child =>
        new Child(root, "competing-processes/many-sagas-worker", { sandbox, ...instructions });

      const survivor = work({ concurrency: 10, callsEnough: 1 });
      const deaths: (NodeJS.Signals | null)[] = [];
      for (let kill = 1; kill <= KILLS; kill++) {
        const victim = work({ concurrency: 50, callsEnough: Math.ceil(sagas / 40) });
        const isDying = victim.reported.then(() => true);
        // If the surviving process finishes all sagas before this one begins, start more.
        while (!(await Promise.race([isDying, pause().then(() => false)]))) {
          if ((await countOpen(database)) > 0) continue;
          await startAll(database, started, MORE);
          started += MORE;
        }
        victim.kill("SIGKILL");
        deaths.push((await victim.ended).signal);
      }
      expect(deaths).toEqual(Array.from({ length: KILLS }, () => "SIGKILL"));
      const helper = work({ concurrency: 200, callsEnough: 1 });
      await untilNothingOpen(database);
      for (const child of [survivor, helper]) child.send({ kind: "stop" });
      expect((await survivor.ended).code).toBe(0);
      expect((await helper.ended).code).toBe(0);

      const effects = new Effects(sandbox.effects).read();
      expect(await checkSagaInvariants(database, effects, { recoveryMax: 20 })).toEqual([]);
      const { ended, claims } = await countEnds(database);
      expect(ended).toBe(started);
      const calls = new Map<string, number>();
      for (const { phase, key } of effects) if (phase === "begun") calls.set(key, (calls.get(key) ?? 0) + 1);
      const tooMany = [...calls].filter(([key, times]) => times > (claims.get(key.split(":")[0] ?? "") ?? 0));
      expect(tooMany).toEqual([]);
      expect(calls.size).toBe(started * parcel.steps.length);
      // The kills had an effect: some saga was claimed more than once.
      expect([...claims.values()].some((times) => times > 1)).toBe(true);
      await database.close();
    },
  );
});

async function startAll(database: Database, first: number, sagas: number): Promise<void> {
  const amends = new Amends({ database, sagas: [parcel] });
  await Promise.all(
    Array.from({ length: sagas }, (_, index) => amends.start(parcel, {}, { id: `p${first + index}` })),
  );
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}

async function countOpen(database: Database): Promise<number> {
  const table = database.dialect.table("saga_executions");
  const [row] = await database.query(
    sql`select count(*) as open from ${table} where status in (${literals(CLAIMABLE)})`,
  );
  return Number(row?.["open"]);
}

async function untilNothingOpen(database: Database): Promise<void> {
  while ((await countOpen(database)) > 0) await pause();
}

async function countEnds(database: Database): Promise<{ ended: number; claims: Map<string, number> }> {
  const { dialect } = database;
  const [row] = await database.query(
    sql`select count(*) as ended from ${dialect.table("saga_executions")} where status = 'COMPLETED'`,
  );
  const lines = await database.query(
    sql`select saga_id, count(*) as claims from ${dialect.table("saga_logs")} where step_name = ${"$claim"} group by ${raw("saga_id")}`,
  );
  const claims = new Map(lines.map((line) => [line["saga_id"] as string, Number(line["claims"])]));
  return { ended: Number(row?.["ended"]), claims };
}
