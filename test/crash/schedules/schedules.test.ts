/** Processes that start the sagas of ticks are killed at each durable point, and compete for the same ticks. */
import { Amends } from "amends";
import { expect, it } from "vitest";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { checkSagaInvariants } from "../checkers/saga-invariants.ts";
import { Effects, recorder } from "../external-world/effects.ts";
import { bundled } from "../child-processes/bundle.ts";
import { Child } from "../child-processes/child.ts";
import { withCrashPoints, type AtPoint } from "../harness/crash-points.ts";
import { onEachDialect } from "../harness/sandbox-pool.ts";
import { isExhaustive } from "../harness/sampling.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import type { TickingInstructions } from "./ticking-worker.ts";
import { DRIVER_ERRORS } from "../failed-commits/commit-faults.ts";
import { expectedIds, namesOf, putOverdue, report, TICKS } from "./yearly.ts";

/** The first points are those of the ticks: before and after their commit. The others are those of the sagas. */
const POINTS = isExhaustive ? [1, 2, 3, 4, 5, 6, 7, 8] : [1, 2, 3];

async function childOf(instructions: TickingInstructions): Promise<Child> {
  return new Child(await bundled(), "schedules/ticking-worker", instructions);
}

async function untilAllEnded(database: Database, count: number): Promise<void> {
  const table = database.dialect.table("saga_executions");
  for (;;) {
    const [row] = await database.query(
      sql`select count(*) as ended from ${table} where status = 'COMPLETED'`,
    );
    if (Number(row?.["ended"]) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function stop(...children: readonly Child[]): Promise<void> {
  for (const child of children) child.send({ kind: "stop" });
  for (const child of children) expect((await child.ended).code).toBe(0);
}

/** What does not hold: each tick has started one saga, once, and is recorded once. */
async function problemsOf(
  database: Database,
  sandbox: Sandbox,
  names: readonly string[],
): Promise<readonly string[]> {
  const { dialect } = database;
  const sagas = await database.query(sql`select id from ${dialect.table("saga_executions")} order by id`);
  const ids = sagas.map((row) => row["id"] as string);
  const expected = names.flatMap(expectedIds).toSorted();
  const ticks = await database.query(
    sql`select saga_id from ${dialect.table("schedule_ticks")} where outcome = 'started' order by saga_id`,
  );
  const recorded = ticks.map((row) => row["saga_id"] as string);
  const effects = new Effects(sandbox.effects).read();
  return [
    ...(JSON.stringify(ids) === JSON.stringify(expected) ? [] : [`sagas: ${ids.join(" ")}`]),
    ...(JSON.stringify(recorded) === JSON.stringify(expected) ? [] : [`records: ${recorded.join(" ")}`]),
    ...(await checkSagaInvariants(database, effects, { recoveryMax: 20 })),
  ];
}

onEachDialect((sandboxes) => {
  it(
    "[S-41] a process that is killed around the commit of its ticks has started each of them once, or not at all",
    { timeout: 120_000 },
    async () => {
      const names = namesOf(3);
      const tried = POINTS.map(async (crashAt) => {
        const sandbox = await sandboxes.create();
        const database = await openSandbox(sandbox);
        await putOverdue(database, names);
        const victim = await childOf({ sandbox, crashAt });
        expect((await victim.ended).signal).toBe("SIGKILL");
        const helper = await childOf({ sandbox });
        await untilAllEnded(database, names.length * TICKS);
        await stop(helper);
        expect([crashAt, await problemsOf(database, sandbox, names)]).toEqual([crashAt, []]);
        await database.close();
      });
      await Promise.all(tried);
    },
  );

  it(
    "[S-41] several processes that tick at once, one of which is killed, start each tick once",
    { timeout: 120_000 },
    async () => {
      const names = namesOf(40);
      const sandbox = await sandboxes.create();
      const database = await openSandbox(sandbox);
      await putOverdue(database, names);
      const processes = await Promise.all([1, 2, 3].map(() => childOf({ sandbox })));
      const victim = await childOf({ sandbox, crashAt: 2 });
      await untilAllEnded(database, names.length * TICKS);
      await stop(...processes);
      victim.kill("SIGKILL");
      await victim.ended;
      expect(await problemsOf(database, sandbox, names)).toEqual([]);
      await database.close();
    },
  );

  for (const moment of ["before", "after"] as const) {
    it(`[S-41][K-12] a commit of ticks that fails, or whose answer is lost, starts no tick twice: ${moment}`, async () => {
      const names = namesOf(3);
      const sandbox = await sandboxes.create();
      const inner = await openSandbox(sandbox);
      await putOverdue(inner, names);
      let faults = 0;
      const atPoint: AtPoint = async ({ name }) => {
        if (name !== `commit 1 ${moment}`) return;
        faults++;
        throw Object.assign(new Error("the connection was cut"), {
          code: DRIVER_ERRORS[sandboxes.dialect][moment],
        });
      };
      const amends = new Amends({
        database: withCrashPoints(inner, atPoint),
        sagas: [report],
        middleware: [recorder(new Effects(sandbox.effects))],
      });
      await amends.worker({ only: ["schedules"] }).runOnce({ budget: "30s" });
      await amends.worker().runOnce({ budget: "30s" });
      expect(faults).toBe(1);
      expect(await problemsOf(inner, sandbox, names)).toEqual([]);
      await amends.close();
    });
  }
});
