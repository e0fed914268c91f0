/**
 * Runs the acts of a group: as many at once as may be, each booked when it has ended, and what ends while others are
 * being booked is booked together. All waiting is visible here. Nobody goes on, back or away while an act is called:
 * whatever the reason, the acts that run are waited for.
 */
import { control, started, type Entry } from "../../core/saga/entry.ts";
import {
  advance,
  decide,
  needsStart,
  next,
  type ActCommand,
  type Decision,
  type Facts,
} from "../../core/saga/interpreter.ts";
import { evolve } from "../../core/saga/evolve.ts";
import type { SagaState } from "../../core/saga/state.ts";
import { sleep } from "../../storage/clock.ts";
import {
  accept,
  book,
  deadlineLeftMs,
  expired,
  factsOf,
  moveOf,
  reread,
  tellThrown,
  type DriveTools,
} from "./checkpoint.ts";
import { callStep, type Called } from "./call.ts";
import type { Checkpoint } from "../journal/journal.ts";
import { Member } from "./member.ts";
import { bookReturned } from "./returning.ts";
import type { Run } from "./run.ts";
import { restAfter, SHORT_WAIT_MS } from "./waiting.ts";

/** Until the group is over, or the saga is no longer here. */
export async function runGroup(tools: DriveTools, run: Run): Promise<void> {
  const group = new GroupRun(tools, run);
  run.heed();
  run.members = new Set();
  try {
    await group.play();
  } catch (error) {
    // Whoever cannot book has lost the saga, but keeps its place until its calls have ended.
    run.stop("lost");
    await group.settled();
    throw error;
  } finally {
    run.members = undefined;
    run.heed();
  }
}

interface Ended {
  readonly command: ActCommand;
  readonly called: Called;
}

class GroupRun {
  readonly #tools: DriveTools;
  readonly #run: Run;
  readonly #calls = new Map<number, Member>();
  readonly #ended: Ended[] = [];
  /** A shutdown has interrupted a call: it may have done what it was to do. */
  #isInterrupted = false;
  #wake: () => void = () => undefined;
  readonly #onTold = (): void => this.#wake();

  constructor(tools: DriveTools, run: Run) {
    this.#tools = tools;
    this.#run = run;
  }

  async play(): Promise<void> {
    const run = this.#run;
    while (!run.departure) {
      if (run.orphans !== undefined && (await bookReturned(this.#tools, run)) === "lost") run.stop("lost");
      if (this.#ended.length > 0) {
        await this.#settle(this.#ended.splice(0));
        continue;
      }
      if (run.stopReason === "cancelled") {
        // Somebody from outside wrote a line: what comes next is decided by it.
        run.heed();
        if ((await reread(this.#tools, run)) === "lost") run.stop("lost");
        continue;
      }
      if (run.stopReason === "lost") {
        await this.settled();
        return run.depart("lost");
      }
      // Given back before anything is decided: whoever takes it next knows that the call is in doubt.
      if (this.#isInterrupted && this.#calls.size === 0) {
        await this.#giveBack(0);
        continue;
      }
      const command = next(run.state, this.#facts());
      const due = command.kind === "group" ? command.acts : [];
      if (command.kind !== "group" && this.#calls.size === 0) return;
      const acts = this.#tools.draining() ? [] : due;
      const fresh = acts.filter((act) => needsStart(run.state, act));
      for (const act of acts) if (!fresh.includes(act)) this.#call(act);
      if (this.#ended.length > 0) continue;
      if (fresh.length > 0) await this.#begin(fresh);
      else if (this.#calls.size > 0) await this.#pause();
      else await this.#rest(due.length > 0 ? 0 : this.#wakeAfterMs());
    }
  }

  /** Resolves when no act is being called any more. */
  async settled(): Promise<void> {
    while (this.#calls.size > 0) await new Promise<void>((resolve) => (this.#wake = resolve));
  }

  #facts(): Facts {
    const run = this.#run;
    const now = this.#tools.clock.monotonicMs();
    const resting = new Set<number>();
    for (const [index, { name }] of run.state.plan.entries())
      if ((run.dueAtMs.get(name) ?? 0) > now) resting.add(index);
    return { ...factsOf(this.#tools, run), calling: new Set(this.#calls.keys()), resting };
  }

  #call(command: ActCommand): void {
    const run = this.#run;
    const { index, step } = command;
    const begunAtMs = run.begunAtMs.get(step) ?? this.#tools.clock.monotonicMs();
    run.begunAtMs.set(step, begunAtMs);
    const member = new Member(run, index, begunAtMs);
    this.#calls.set(index, member);
    run.members?.add(member);
    const end = (called: Called | undefined): void => {
      this.#calls.delete(index);
      run.members?.delete(member);
      if (called?.late) run.hear(command, called.late, false);
      // A call that was interrupted has no outcome: whoever takes the saga next calls again.
      if (called) this.#ended.push({ command, called });
      else this.#isInterrupted = true;
      this.#wake();
    };
    const pending = callStep(this.#tools, member, command, undefined);
    if (pending instanceof Promise) void pending.then(end);
    else end(pending);
  }

  /** Writes that these begin, in one commit. */
  async #begin(acts: readonly ActCommand[]): Promise<void> {
    const run = this.#run;
    const [entry, ...more] = acts.map(({ step }) => started(step)) as [Entry, ...Entry[]];
    const state = [entry, ...more].reduce(evolve, run.state);
    await this.#append({ ...this.#lines(entry, more), emissions: [], move: undefined, state });
  }

  /** Books how calls ended. Somebody from outside may have written meanwhile: then it is decided anew. */
  async #settle(ended: readonly Ended[]): Promise<void> {
    const [run, tools] = [this.#run, this.#tools];
    for (;;) {
      const decisions = this.#decide(ended);
      const checkpoint = await this.#checkpoint(ended, decisions);
      const booking = await this.#append(checkpoint);
      if (booking === "changed") continue;
      if (booking === "lost") return;
      for (const [index, { command, called }] of ended.entries())
        tellThrown(run, command, called, decisions[index]?.waitMs);
      const { releaseMs } = checkpoint.move ?? {};
      if (releaseMs === undefined) return;
      tools.dueIn(releaseMs);
      return run.depart("released");
    }
  }

  #decide(ended: readonly Ended[]): readonly Decision[] {
    const run = this.#run;
    let { state } = run;
    return ended.map(({ command, called }) => {
      const decision = decide(state, command, called.outcome, run.step(command.step).retry);
      state = evolve(state, decision.entry);
      if (decision.waitMs !== undefined)
        run.dueAtMs.set(command.step, this.#tools.clock.monotonicMs() + decision.waitMs);
      return decision;
    });
  }

  /** All outcomes, one line each, and with the last of them whatever begins after it. */
  async #checkpoint(ended: readonly Ended[], decisions: readonly Decision[]): Promise<Checkpoint> {
    const [run, tools] = [this.#run, this.#tools];
    const lines = decisions.map(({ entry }) => entry);
    const late = ended.find(({ called }) => called.expired);
    if (late) lines.unshift(expired(late.command));
    const last = lines.pop() as Entry;
    const before = lines.reduce(evolve, run.state);
    const isAlone = this.#calls.size === 0;
    const isResting = isAlone && run.hasWaits && late === undefined && !run.orphans?.any;
    const rest = isResting ? await restAfter(tools, run, last, before) : undefined;
    const restsMs = isAlone ? this.#restsAfter(evolve(before, last)) : undefined;
    const releaseMs = rest?.releaseMs ?? restsMs;
    const go = rest ? rest.begins : releaseMs === undefined && !tools.draining();
    const { entry, more = [], state } = advance(before, last, this.#facts(), go);
    const [head, ...tail] = [...lines, entry, ...more] as [Entry, ...Entry[]];
    const recovered =
      run.unconfirmedRecovery && decisions.some((decision) => decision.entry.status === "COMPLETED");
    const emissions = ended.flatMap(({ called }) => called.emissions);
    const move = moveOf(run, state, recovered, releaseMs, rest);
    return { ...this.#lines(head, tail), emissions, move, state };
  }

  #lines(
    entry: Entry,
    more: readonly Entry[],
  ): Pick<Checkpoint, "sagaId" | "epoch" | "token" | "version" | "entry" | "more"> {
    const { id: sagaId, epoch, token, version } = this.#run;
    return { sagaId, epoch, token, version: version + 1, entry, more };
  }

  async #append(checkpoint: Checkpoint): Promise<"held" | "changed" | "lost"> {
    const [run, tools] = [this.#run, this.#tools];
    run.sentVersion = checkpoint.version + (checkpoint.more?.length ?? 0);
    if (await tools.journal.append(checkpoint)) return accept(tools, run, checkpoint);
    const found = await reread(tools, run);
    if (found === "lost") run.stop("lost");
    return found;
  }

  /** Until a call ends, the saga is told something, or a next try is due. */
  async #pause(): Promise<void> {
    const [run, tools] = [this.#run, this.#tools];
    const now = tools.clock.monotonicMs();
    const dues = [...run.dueAtMs.values()].filter((atMs) => atMs > now);
    const told = run.stopReason === undefined ? run.signal : undefined;
    let cancel = (): void => undefined;
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
      if (dues.length > 0) cancel = tools.clock.after(Math.min(...dues) - now, resolve);
      told?.addEventListener("abort", this.#onTold, { once: true });
      void run.orphans?.nextReturn().then(resolve);
    });
    cancel();
    told?.removeEventListener("abort", this.#onTold);
  }

  /** Nothing is called, and nothing may be yet: what little is left is waited out, else the saga is given back. */
  async #rest(ms: number): Promise<void> {
    const [run, tools] = [this.#run, this.#tools];
    if (run.orphans?.any && !tools.draining()) {
      run.heed();
      return this.#pause();
    }
    if (ms <= SHORT_WAIT_MS && !tools.draining()) {
      run.heed();
      return sleep(tools.clock, ms, run.signal);
    }
    await this.#giveBack(ms);
  }

  /** Whatever has begun is in doubt for whoever takes the saga next. */
  async #giveBack(ms: number): Promise<void> {
    const [run, tools] = [this.#run, this.#tools];
    const booking = await book(tools, run, { entry: control("$release", {}), releaseMs: ms, waits: true });
    if (booking === "changed") return;
    if (booking === "held") tools.dueIn(ms);
    run.depart(booking === "held" ? "released" : "lost");
  }

  /** How long the saga is given back for after this, if it is. */
  #restsAfter(state: SagaState): number | undefined {
    const command = next(state, this.#facts());
    // A saga whose calls have not all returned is not given back: nobody else could hear them.
    if (command.kind !== "group" || command.acts.length > 0 || this.#run.orphans?.any) return undefined;
    const ms = this.#wakeAfterMs();
    return ms > SHORT_WAIT_MS ? ms : undefined;
  }

  /** When the next try is due, or a deadline passes. */
  #wakeAfterMs(): number {
    const [run, tools] = [this.#run, this.#tools];
    const now = tools.clock.monotonicMs();
    const instants = [...run.dueAtMs].flatMap(([name, dueAtMs]) => {
      if (dueAtMs <= now) return [];
      const { deadlineMs } = run.step(name);
      const limit = deadlineMs === undefined ? Infinity : (run.begunAtMs.get(name) ?? now) + deadlineMs;
      return [Math.min(dueAtMs, limit)];
    });
    // Where nothing is left to wait for, it is looked at again at once.
    const wakeAtMs = instants.length === 0 ? now : Math.min(...instants);
    const left = deadlineLeftMs(tools, run) ?? Infinity;
    return Math.max(0, Math.ceil(Math.min(left, wakeAtMs - now)));
  }
}
