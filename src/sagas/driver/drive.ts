/**
 * Runs one saga: ask the interpreter what is next, have the host do it, record what came of it, again. All waiting is in
 * `host.until` and `host.record`. What always holds: a call is made only once its beginning is recorded, its outcome is
 * recorded before anything follows from it, and the saga is neither turned back, ended nor given back while one of its calls
 * is under way.
 */
import { AsyncResource } from "node:async_hooks";
import { control, type ControlDetails } from "../../core/saga/entry.ts";
import { CLAIMABLE } from "../../core/saga/machine.ts";
import { LATER, type Recorded, type RecordListener, type SagaHost } from "./saga-host.ts";
import { linesOf, recorded } from "./lines.ts";
import type { Departure, Run } from "./run.ts";
import { isOver, take, type Turned } from "./turn.ts";

/** Runs the saga until it has left this process. */
export function drive(host: SagaHost, run: Run): Promise<Departure> {
  return new Promise((resolve, reject) => new Driver(host, run, resolve, reject).begin());
}

const NONE: readonly never[] = [];

/**
 * The loop over the turns of one saga. It is no async function: a host that records many sagas in one commit resumes each of
 * them by a call, which costs less than a chain of promises for each line. Every saga is resumed in its own asynchronous
 * context, so that what the application keeps in an AsyncLocalStorage never comes from another saga of the commit.
 */
class Driver extends AsyncResource implements RecordListener {
  readonly #host: SagaHost;
  readonly #run: Run;
  readonly #resolve: (departure: Departure) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    host: SagaHost,
    run: Run,
    resolve: (departure: Departure) => void,
    reject: (error: unknown) => void,
  ) {
    super("AmendsSaga");
    this.#host = host;
    this.#run = run;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    this.runInAsyncScope(() => this.#goOn());
  }

  recorded(how: Recorded): void {
    this.runInAsyncScope(() => this.#goOnAfter(how));
  }

  failed(error: unknown): void {
    this.runInAsyncScope(() => this.#fail(error));
  }

  /** Takes one turn after another until one is not over yet, or the saga has left. */
  #goOn(): void {
    try {
      for (;;) {
        const turn = take(this.#host, this.#run, this);
        if (turn === LATER) return;
        if (turn instanceof Promise) {
          // The continuation of a promise is in the saga's own context already.
          turn.then(
            (turned) => this.#goOnAfter(turned),
            (error: unknown) => this.#fail(error),
          );
          return;
        }
        if (this.#hasLeft(turn)) return;
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #goOnAfter(turned: Turned): void {
    if (!this.#hasLeft(turned)) this.#goOn();
  }

  #hasLeft(turned: Turned): boolean {
    // If an operator added a line first, the outcomes are decided on again.
    if (turned === "changed") return false;
    this.#run.unrecorded = NONE;
    if (turned === undefined || turned === "held") return false;
    this.#leave(() => this.#resolve(turned === "left" ? "released" : turned));
    return true;
  }

  #fail(error: unknown): void {
    this.#leave(() => this.#reject(error));
  }

  /** A saga that was lost, or cannot be recorded, keeps its slot until its calls have returned. */
  #leave(end: () => void): void {
    const { calls } = this.#run;
    if (calls.every(isOver)) end();
    else
      this.#host.until(calls).then(
        () => this.#leave(end),
        (error: unknown) => this.#reject(error),
      );
  }
}

/** Stalls a saga that cannot go on by itself: it needs a person, unless one has ended it meanwhile. */
export async function stall(host: SagaHost, run: Run, details: ControlDetails): Promise<Departure> {
  for (;;) {
    if (!CLAIMABLE.includes(run.state.status)) return "ended";
    const lines = linesOf(host, run, { entry: control("$stall", details), begins: false });
    const how = await recorded(host, lines);
    if (how !== "changed") return how === "lost" ? "lost" : "ended";
  }
}
