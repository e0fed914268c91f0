/** The workers that take over from a killed or stopped process: one for each of its runs. */
import type { Child } from "../child-processes/child.ts";
import type { Sandbox } from "./sandbox.ts";
import { RecoveryWorker } from "./recovery-worker.ts";
import type { Scenario } from "../scenarios/scenario.ts";

/** Errors that a woken process may get, because its work was finished while it was stopped. */
const ALLOWED_AFTER_WAKE = new Set(["NOT_ALLOWED_NOW", "CANCEL_REFUSED"]);

export interface Takeover {
  readonly problems: readonly string[];
  /** The number of runs that lost a claim to the recovery worker. */
  readonly takenOver: number;
}

export class RecoveryWorkers {
  readonly #workers: readonly RecoveryWorker[];
  readonly #requests: Promise<void>[] = [];

  readonly #overlaps: boolean;
  /** For each run: why its recovery did not end. */
  readonly #failures: readonly string[][];

  private constructor(workers: readonly RecoveryWorker[], overlaps: boolean) {
    this.#workers = workers;
    this.#overlaps = overlaps;
    this.#failures = workers.map(() => []);
  }

  static async open(scenario: Scenario, inUse: readonly Sandbox[]): Promise<RecoveryWorkers> {
    const workers = await Promise.all(inUse.map((sandbox) => RecoveryWorker.open(scenario, sandbox)));
    return new RecoveryWorkers(workers, scenario.overlaps ?? false);
  }

  /** Cancels a saga from this process when the child asks for it. */
  cancelOnRequest(child: Child): void {
    child.onReport((report) => {
      if (report.kind !== "cancel") return;
      const cancelled = (this.#workers[report.run] as RecoveryWorker).cancel(report.sagaId);
      this.#requests.push(cancelled.then(() => child.send({ run: report.run })));
    });
  }

  /** A recovery that fails is a problem of its own point, which `check` names: it must not hide the other runs. */
  async recover(): Promise<readonly number[]> {
    await Promise.all(this.#requests);
    return Promise.all(
      this.#workers.map((recovery, run) =>
        recovery.run().catch((error: unknown) => {
          this.#failures[run]?.push(`the recovery failed: ${String(error)}`);
          return 0;
        }),
      ),
    );
  }

  /** Waits until the child is dead, checks what it left, and recovers. */
  async recoverAfterKill(child: Child, names: readonly string[]): Promise<Takeover> {
    const { signal, errors } = await child.ended;
    const problems = signal === "SIGKILL" ? [] : [`the process was not killed: ${errors}`];
    // The invariants hold at any moment, also before the recovery.
    problems.push(...(await this.#collect(names, (recovery) => recovery.checkBeforeRecovery())));
    return { problems, takenOver: count(await this.recover()) };
  }

  /** Recovers while the child is stopped, then wakes it: the child must notice its lost claims and write nothing. */
  async recoverWhileStopped(child: Child, names: readonly string[]): Promise<Takeover> {
    await child.stopped;
    const takenOver = await (this.#overlaps ? this.#claimHeld() : this.recover());
    const before = await this.#ended();
    const { code, errors } = await child.wake();
    const after = await this.#ended();
    const problems = code === 0 ? [] : [`the woken process exited with ${code}: ${errors}`];
    problems.push(...(await this.#collect(names, (recovery) => recovery.release())));
    names.forEach((name, run) => {
      for (const [id, text] of before[run] as ReadonlyMap<string, string>)
        if (after[run]?.get(id) !== text) problems.push(`${name}: I4: ${id} changed after its end`);
      const wrong = wakeUpProblem(child, run, (takenOver[run] as number) > 0);
      if (wrong !== undefined) problems.push(`${name}: ${wrong}`);
    });
    // The child may have started or released work after it woke up: recover that as well.
    await this.recover();
    return { problems, takenOver: count(takenOver) };
  }

  /** The violations of each run, with its point, and the tables of a run that has some. */
  async check(names: readonly string[]): Promise<string[]> {
    const found = await this.#collect(names, (recovery) => recovery.check());
    const failed = this.#failures.flatMap((texts, run) => texts.map((text) => `${names[run]}: ${text}`));
    const problems = [...failed, ...found];
    const isBroken = (name: string): boolean => problems.some((problem) => problem.startsWith(`${name}: `));
    const tables = await Promise.all(
      names.map(async (name, run) =>
        isBroken(name) ? [`${name}: its tables: ${(await this.#workers[run]?.tables()) ?? ""}`] : [],
      ),
    );
    return [...problems, ...tables.flat()];
  }

  async close(): Promise<void> {
    for (const recovery of this.#workers) await recovery.close();
  }

  /** Claims what the child holds, and keeps the claims. */
  #claimHeld(): Promise<readonly number[]> {
    return Promise.all(this.#workers.map((recovery) => recovery.claimHeld()));
  }

  async #collect(
    names: readonly string[],
    check: (recovery: RecoveryWorker) => Promise<readonly string[]>,
  ): Promise<string[]> {
    const found = await Promise.all(this.#workers.map(check));
    return found.flatMap((problems, run) => problems.map((problem) => `${names[run]}: ${problem}`));
  }

  #ended(): Promise<readonly ReadonlyMap<string, string>[]> {
    return Promise.all(this.#workers.map((recovery) => recovery.ended()));
  }
}

/** The problem with a run's report after the wake-up, if any. */
function wakeUpProblem({ reports }: Child, run: number, isTakenOver: boolean): string | undefined {
  const report = reports.find((one) => one.run === run && one.kind !== "cancel");
  if (!report || report.kind === "cancel") return "the woken process sent no report";
  if (report.kind === "threw") return ALLOWED_AFTER_WAKE.has(report.code ?? "") ? undefined : report.text;
  return isTakenOver && report.lost === 0
    ? "K-06: its claim was taken over, but its counters show no lost claim"
    : undefined;
}

function count(takenOver: readonly number[]): number {
  return takenOver.filter((sagas) => sagas > 0).length;
}
