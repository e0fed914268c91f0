/**
 * Runs several workers of one config, each in a process of its own, because one process of Node.js runs on one core. This process only
 * watches them: it starts one again that has ended by itself, answers probes for all of them, and passes a stop on.
 */
import { joinMetrics } from "../../console/health/joined-metrics.ts";
import { answerProbes, type ProbedReadiness, type ProbeOptions } from "../../console/health/probes.ts";
import { delayMs, type Backoff } from "../../core/backoff.ts";
import { durationMs, type Duration } from "../../core/duration.ts";
import { sleep, systemClock } from "../../storage/clock.ts";
import { ink, paint } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { span } from "../terminal/words.ts";
import { launch, type Child, type ChildEnd } from "./child.ts";
import { announce, fired, listening, report, type WorkerMessage } from "../program/service.ts";
import type { ExitCode, World } from "../program/world.ts";

export interface ProcessesOptions {
  /** How many processes. */
  readonly count: number;
  /** The command line of each. */
  readonly argv: readonly string[];
  /** Ends before the first of them begins. */
  prepare(): Promise<void>;
  readonly health: ProbeOptions | undefined;
  readonly deadline: Duration;
}

/** The environment variable by which a worker knows that another process watches it. */
export const WATCHED = "AMENDS_WATCHED_WORKER";

const RESTART: Backoff = { baseMs: 1_000, capMs: 30_000, factor: 2 };
/** A worker that ran for this long before it ended is started again as if for the first time. */
const STEADY_MS = 60_000;
/** What a worker needs beyond its deadline to close its connections. */
const CLOSING_MS = 5_000;
const ANSWER_MS = 2_500;

export async function serveProcesses(
  options: ProcessesOptions,
  output: Output,
  world: World,
): Promise<ExitCode> {
  const { count, health, deadline } = options;
  const end = new AbortController();
  const stop = AbortSignal.any([world.stop, end.signal]);
  const all = Array.from(
    { length: count },
    (_, at) => new WatchedWorker(at + 1, options, output, world, () => end.abort()),
  );
  const probes =
    health &&
    (await listening(
      health,
      (given) => answerProbes(given, { readiness: () => readinessOf(all), metrics: () => metricsOf(all) }),
      announce(output),
    ));
  try {
    await options.prepare();
    const runs = all.map((one) => one.run(stop));
    await fired(stop);
    probes?.drain();
    report(
      output,
      { type: "stopping" },
      paint(
        "dim",
        `Stopping ${count} processes; running calls have ${String(deadline)}. Ctrl-C again ends at once.`,
      ),
    );
    const codes = await Promise.all(runs);
    return codes.every((code) => code === 0) ? 0 : 1;
  } finally {
    await probes?.close();
  }
}

/** One of the processes, over its restarts. */
class WatchedWorker {
  readonly #number: number;
  readonly #options: ProcessesOptions;
  readonly #output: Output;
  readonly #world: World;
  readonly #onUseless: () => void;
  /** The address of its probes, while it works. */
  #probes: string | undefined;
  #hasWorked = false;

  /** `onUseless` is called if the worker cannot begin at all. */
  constructor(
    number: number,
    options: ProcessesOptions,
    output: Output,
    world: World,
    onUseless: () => void,
  ) {
    this.#number = number;
    this.#options = options;
    this.#output = output;
    this.#world = world;
    this.#onUseless = onUseless;
  }

  /** Until `stop` fires, and the worker has ended. */
  async run(stop: AbortSignal): Promise<number> {
    for (let failures = 1; ; failures++) {
      const beganAtMs = this.#world.nowMs();
      const { code, signal } = await this.#once(stop);
      if (stop.aborted) return code ?? 1;
      // What a worker cannot begin with (a config that does not load, a missing schema) is the same for all of them.
      if (!this.#hasWorked) {
        this.#onUseless();
        return code === 0 ? 1 : (code ?? 1);
      }
      if (this.#world.nowMs() - beganAtMs >= STEADY_MS) failures = 1;
      const waitMs = delayMs(RESTART, failures);
      const how = signal === null ? `with exit code ${String(code)}` : `by ${signal}`;
      this.#tell(how, waitMs);
      await sleep(systemClock, waitMs, stop);
      if (stop.aborted) return 0;
    }
  }

  /** What its probe server answers under a path; undefined while it has none, or if it does not answer. */
  async ask(path: string): Promise<string | undefined> {
    if (this.#probes === undefined) return undefined;
    try {
      const response = await fetch(`${this.#probes}${path}`, { signal: AbortSignal.timeout(ANSWER_MS) });
      return response.ok || path === "readyz" ? await response.text() : undefined;
    } catch {
      return undefined;
    }
  }

  async #once(stop: AbortSignal): Promise<ChildEnd> {
    const { argv, deadline } = this.#options;
    const child: Child = launch({
      argv,
      env: { ...this.#world.env, [WATCHED]: String(this.#number) },
      cwd: this.#world.cwd,
      onMessage: (message) => this.#hear(message as WorkerMessage),
      onLine: (line, stream) => this.#pass(line, stream),
    });
    const onStop = (): void => void child.end(durationMs(deadline, "--deadline") + CLOSING_MS);
    stop.addEventListener("abort", onStop, { once: true });
    if (stop.aborted) onStop();
    const ended = await child.ended;
    stop.removeEventListener("abort", onStop);
    this.#probes = undefined;
    return ended;
  }

  #hear(message: WorkerMessage): void {
    if (message.type === "working") this.#hasWorked = true;
    else this.#probes = message.url;
  }

  /** Lines of JSON stay lines of JSON. */
  #pass(line: string, stream: "out" | "err"): void {
    const text = this.#output.isJson ? line : `${this.#number} │ ${line}`;
    this.#world[stream](`${text}\n`);
  }

  #tell(how: string, waitMs: number): void {
    const event = { type: "ended", process: this.#number, how, startsAgainInMs: waitMs };
    this.#output.event(event);
    this.#output.note(
      ink`${paint("yellow", "ended:")} process ${String(this.#number)} ended ${how}; it starts again in ${span(waitMs)}`,
    );
  }
}

/** All processes have to be ready. A check is named with the number of its process. */
async function readinessOf(all: readonly WatchedWorker[]): Promise<ProbedReadiness> {
  const answers = await Promise.all(all.map((one) => one.ask("readyz")));
  const checks = answers.flatMap((answer, at) => {
    const prefix = `process ${at + 1}`;
    if (answer === undefined) return [{ name: prefix, ok: false, detail: "does not answer" }];
    const found = JSON.parse(answer) as ProbedReadiness;
    return found.checks.map(({ name, ...rest }) => ({ name: `${prefix}: ${name}`, ...rest }));
  });
  return { ready: checks.every(({ ok }) => ok), checks };
}

async function metricsOf(all: readonly WatchedWorker[]): Promise<string> {
  const texts = await Promise.all(all.map((one) => one.ask("metrics")));
  if (texts.every((text) => text === undefined)) throw new Error("No process answers.");
  return joinMetrics(texts);
}
