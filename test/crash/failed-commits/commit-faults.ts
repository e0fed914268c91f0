/** Runs a scenario on a database that fails one commit: it either refuses the write, or commits it and loses the answer. */
import { runScenario, type ScenarioRunReport } from "../harness/scenario-run.ts";
import type { Sandbox } from "../harness/sandbox.ts";
import type { CrashPoint, AtPoint } from "../harness/crash-points.ts";
import { RecoveryWorker } from "../harness/recovery-worker.ts";
import type { Scenario } from "../scenarios/scenario.ts";

/** A claim whose answer was lost is recovered after this lease. */
const LONG_LEASE_MS = 3_000;

/** The driver's error code: `before` means that nothing was committed, `after` leaves that open. */
export const DRIVER_ERRORS = {
  postgres: { before: "40001", after: "ECONNRESET" },
  sqlite: { before: "SQLITE_BUSY", after: "SQLITE_IOERR" },
} as const;

/** The points before and after each commit. */
export function durablePoints(points: readonly CrashPoint[]): readonly CrashPoint[] {
  return points.filter(({ name }) => /^(?:write|commit) /.test(name));
}

export function runInProcess(
  sandbox: Sandbox,
  scenario: Scenario,
  atPoint: AtPoint,
): Promise<ScenarioRunReport> {
  return runScenario({ sandbox, scenario, atPoint, leaseMs: LONG_LEASE_MS, cancel: async () => undefined });
}

export function failAt({ name }: CrashPoint, dialect: Sandbox["dialect"]): AtPoint {
  return async (point) => {
    if (point.name !== name) return;
    const code = DRIVER_ERRORS[dialect][name.endsWith("before") ? "before" : "after"];
    throw Object.assign(new Error("the connection was cut"), { code });
  };
}

/** Lets another worker finish what is left, and returns the violations. */
export async function recoverAndCheck(sandbox: Sandbox, scenario: Scenario): Promise<readonly string[]> {
  const recovery = await RecoveryWorker.open(scenario, sandbox);
  await recovery.run();
  const problems = await recovery.check();
  await recovery.close();
  return problems;
}
