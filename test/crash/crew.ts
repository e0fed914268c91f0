/** One recovering process for each lane of a child that was stopped. */
import type { Child } from "./process.ts";
import type { Place } from "./place.ts";
import { Recovery } from "./recovery.ts";
import type { Scenario } from "./scenario.ts";

/** Refusals that a process may meet when it wakes up in a world that went on without it. */
const OUTRUN = new Set(["NOT_ALLOWED_NOW", "CANCEL_REFUSED"]);

export interface Takeover {
  readonly problems: readonly string[];
  /** How many lanes had something taken away from them. */
  readonly taken: number;
}

export class Crew {
  readonly #recoveries: readonly Recovery[];
  readonly #requests: Promise<void>[] = [];

  readonly #overlaps: boolean;

  private constructor(recoveries: readonly Recovery[], overlaps: boolean) {
    this.#recoveries = recoveries;
    this.#overlaps = overlaps;
  }

  static async assemble(scenario: Scenario, places: readonly Place[]): Promise<Crew> {
    const recoveries = await Promise.all(places.map((place) => Recovery.open(scenario, place)));
    return new Crew(recoveries, scenario.overlaps ?? false);
  }

  /** Cancels what the child asks to have cancelled from elsewhere. */
  serve(child: Child): void {
    child.onReport((report) => {
      if (report.kind !== "cancel") return;
      const cancelled = (this.#recoveries[report.lane] as Recovery).cancel(report.sagaId);
      this.#requests.push(cancelled.then(() => child.send({ lane: report.lane })));
    });
  }

  async recover(): Promise<readonly number[]> {
    await Promise.all(this.#requests);
    return Promise.all(this.#recoveries.map((recovery) => recovery.run()));
  }

  /** Waits for the child's death, then takes over. */
  async succeed(child: Child, names: readonly string[]): Promise<Takeover> {
    const { signal, errors } = await child.ended;
    const problems = signal === "SIGKILL" ? [] : [`the process was to be killed and was not: ${errors}`];
    // Whatever a process leaves behind is in order, also before anybody has seen to it.
    problems.push(...(await this.#ask(names, (recovery) => recovery.glance())));
    return { problems, taken: count(await this.recover()) };
  }

  /** Takes everything over while the child sleeps, then wakes it: it must find that it lost, and write nothing. */
  async outrun(child: Child, names: readonly string[]): Promise<Takeover> {
    await child.stopped;
    const taken = await (this.#overlaps ? this.#take() : this.recover());
    const before = await this.#ended();
    const { code, errors } = await child.wake();
    const after = await this.#ended();
    const problems = code === 0 ? [] : [`the process woke up and ended with ${code}: ${errors}`];
    problems.push(...(await this.#ask(names, (recovery) => recovery.giveBack())));
    names.forEach((name, lane) => {
      for (const [id, text] of before[lane] as ReadonlyMap<string, string>)
        if (after[lane]?.get(id) !== text) problems.push(`${name}: I4: ${id} changed after it had ended`);
      const wrong = complaint(child, lane, (taken[lane] as number) > 0);
      if (wrong !== undefined) problems.push(`${name}: ${wrong}`);
    });
    // What it only now began, or gave back, is finished like anything else.
    await this.recover();
    return { problems, taken: count(taken) };
  }

  check(names: readonly string[]): Promise<string[]> {
    return this.#ask(names, (recovery) => recovery.check());
  }

  async close(): Promise<void> {
    for (const recovery of this.#recoveries) await recovery.close();
  }

  /** Takes away what the child holds, and holds it. */
  #take(): Promise<readonly number[]> {
    return Promise.all(this.#recoveries.map((recovery) => recovery.take()));
  }

  async #ask(
    names: readonly string[],
    question: (recovery: Recovery) => Promise<readonly string[]>,
  ): Promise<string[]> {
    const found = await Promise.all(this.#recoveries.map(question));
    return found.flatMap((problems, lane) => problems.map((problem) => `${names[lane]}: ${problem}`));
  }

  #ended(): Promise<readonly ReadonlyMap<string, string>[]> {
    return Promise.all(this.#recoveries.map((recovery) => recovery.ended()));
  }
}

/** What is wrong with what a lane said when it woke up. */
function complaint({ reports }: Child, lane: number, isTaken: boolean): string | undefined {
  const report = reports.find((one) => one.lane === lane && one.kind !== "cancel");
  if (!report || report.kind === "cancel") return "the process woke up and said nothing";
  if (report.kind === "threw") return OUTRUN.has(report.code ?? "") ? undefined : report.text;
  return isTaken && report.lost === 0
    ? "K-06: its work was taken, and it did not count that as lost"
    : undefined;
}

function count(taken: readonly number[]): number {
  return taken.filter((sagas) => sagas > 0).length;
}
