/** Starts one process after another on a saga that kills its process, until one survives or the limit is reached. */
import { Effects } from "../external-world/effects.ts";
import { checkSagaInvariants } from "../checkers/saga-invariants.ts";
import { openSandbox } from "../harness/sandbox.ts";
import { startChild } from "../child-processes/child.ts";
import { ID } from "../scenarios/scenario.ts";
import { poison, POISON_RECOVERIES } from "../scenarios/sagas/poison.ts";
import type { SandboxPool } from "../harness/sandbox-pool.ts";
import { raw } from "../../../src/storage/sql.ts";

/** Twice as many as the saga can kill if its recoveries are counted correctly. */
const KILLS_MAX = 2 * (POISON_RECOVERIES + 1);

export interface PoisonResult {
  readonly kills: number;
  readonly calls: number;
  readonly status: unknown;
  readonly violations: readonly string[];
}

export async function runPoisonSaga(sandboxes: SandboxPool, root?: string): Promise<PoisonResult> {
  const sandbox = await sandboxes.create();
  let kills = 0;
  for (; kills < KILLS_MAX; kills++) {
    const child = await startChild({ scenario: poison.name, signal: undefined, runs: [{ sandbox }] }, root);
    const { signal, errors } = await child.ended;
    if (signal === "SIGKILL") continue;
    if (errors !== "") throw new Error(errors);
    break;
  }
  const database = await openSandbox(sandbox);
  const effects = new Effects(sandbox.effects);
  const violations = await checkSagaInvariants(database, effects, { recoveryMax: POISON_RECOVERIES });
  const table = database.dialect.table("saga_executions").text;
  const [row] = await database.query(raw(`select status from ${table}`));
  await database.close();
  await sandboxes.release(sandbox);
  return { kills, calls: effects.countCalls(`${ID}:charge:act`), status: row?.["status"], violations };
}
