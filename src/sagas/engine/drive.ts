/** Runs one saga: ask the interpreter what is next, do it, book what came of it, again. All waiting is visible here. */
import type { RetryPolicy } from "../../core/backoff.ts";
import { decide, needsStart, next, turnEntry } from "../../core/saga/interpreter.ts";
import { control, type ControlDetails, type Entry } from "../../core/saga/entry.ts";
import { evolve } from "../../core/saga/evolve.ts";
import { sleep } from "../../storage/clock.ts";
import {
  accept,
  book,
  checkpointFor,
  expired,
  factsOf,
  reread,
  tellThrown,
  wakeAfter,
  type DriveTools,
} from "./checkpoint.ts";
import { callStep, type CallCommand, type Called } from "./call.ts";
import { runGroup } from "./group.ts";
import { callGuarded } from "./guarded-call.ts";
import { allReturned, bookReturned, waitHere } from "./returning.ts";
import type { Run } from "./run.ts";
import { callStepInTransaction } from "./transactional.ts";
import { restAfter, SHORT_WAIT_MS, wait } from "./waiting.ts";

export async function drive(tools: DriveTools, run: Run): Promise<void> {
  for (;;) {
    if (run.orphans !== undefined && (await bookReturned(tools, run)) === "lost") return run.depart("lost");
    const facts = factsOf(tools, run);
    const command = next(run.state, facts);
    if (command.kind === "end") return run.depart("ended");
    if (command.kind === "turn") {
      const entry = turnEntry(run.state, command.why, facts.late);
      if ((await book(tools, run, { entry })) === "lost") return run.depart("lost");
      continue;
    }
    if (command.kind === "group") {
      await runGroup(tools, run);
      if (run.departure) return;
      continue;
    }
    if (command.kind === "sleep" || command.kind === "wait") {
      if (await allReturned(tools, run)) await wait(tools, run, command);
      if (run.departure) return;
      continue;
    }
    if (tools.draining()) return release(tools, run);
    if (needsStart(run.state, command)) {
      const entry: Entry = {
        step: command.step,
        action: actionOf(command),
        status: "STARTED",
        details: null,
      };
      if ((await book(tools, run, { entry })) === "lost") return run.depart("lost");
      continue;
    }
    const step = run.step(command.step);
    run.heed();
    if (step.deadlineMs !== undefined && command.kind === "act" && command.attempt === 1) {
      run.stepBegunAtMs = tools.clock.monotonicMs();
    }
    const pending =
      step.fallback !== undefined && command.kind === "act"
        ? callGuarded(tools, run, command, step)
        : step.transaction
          ? callStepInTransaction(tools, run, command)
          : callStep(tools, run, command, undefined);
    const called = pending instanceof Promise ? await pending : pending;
    if (called === "again") continue;
    if (called === "lost") return run.depart("lost");
    if (called === undefined) return run.stopReason === "lost" ? run.depart("lost") : release(tools, run);
    if (called.late) run.hear(command, called.late, step.transaction !== undefined);
    if (called.outcome.kind === "ok") {
      // The way that almost every step goes has one wait: for its line to be durable.
      const { entry } = decide(run.state, command, called.outcome, step.retry);
      const before = called.expired ? [expired(command)] : undefined;
      const isResting = run.hasWaits && before === undefined && !run.orphans?.any;
      const rest = isResting ? await restAfter(tools, run, entry) : undefined;
      const checkpoint = checkpointFor(tools, run, { entry, before, emissions: called.emissions, rest });
      if (await tools.journal.append(checkpoint)) {
        accept(tools, run, checkpoint);
        if (rest === undefined) continue;
        tools.dueIn(rest.releaseMs);
        return run.depart("released");
      }
      if ((await reread(tools, run)) === "lost") return run.depart("lost");
    }
    const waitMs = await settle(tools, run, command, called);
    run.heed();
    if (run.departure) return;
    if (waitMs > 0 && run.orphans?.any) await waitHere(tools, run, command, waitMs);
    else if (waitMs > 0) await sleep(tools.clock, waitMs, run.signal);
    if (run.departure) return;
  }
}

export function actionOf(command: CallCommand): "act" | "compensate" {
  return command.kind === "act" ? "act" : "compensate";
}

/** Books what came of a call. Returns how long to wait, in place, before the next one. */
async function settle(tools: DriveTools, run: Run, command: CallCommand, called: Called): Promise<number> {
  const step = run.step(command.step);
  const policy: RetryPolicy = command.kind === "act" ? step.retry : step.compensateRetry;
  const before = called.expired ? [expired(command)] : undefined;
  const { emissions } = called;
  for (;;) {
    const { entry, ...decision } = decide(run.state, command, called.outcome, policy);
    // A saga that turns back now has nothing to wait for.
    const turns =
      decision.waitMs !== undefined && next(evolve(run.state, entry), factsOf(tools, run)).kind === "turn";
    const waitMs = turns ? undefined : decision.waitMs;
    // A saga whose calls have not all returned is not given back: nobody else could hear them.
    const staysHere = waitMs !== undefined && (waitMs <= SHORT_WAIT_MS || run.orphans?.any === true);
    const releaseMs = waitMs === undefined || staysHere ? undefined : wakeAfter(tools, run, command, waitMs);
    const waits = decision.waitMs !== undefined;
    const booking = await book(tools, run, { entry, before, emissions, releaseMs, waits });
    if (booking === "changed") continue;
    if (booking === "lost") {
      run.depart("lost");
      return 0;
    }
    tellThrown(run, command, called, waitMs);
    if (releaseMs !== undefined) {
      tools.dueIn(releaseMs);
      run.depart("released");
    }
    return staysHere ? waitMs : 0;
  }
}

/** Gives the saga back. Whatever call was begun is in doubt for whoever takes it next. */
async function release(tools: DriveTools, run: Run): Promise<void> {
  const entry = control("$release", {});
  for (;;) {
    const booking = await book(tools, run, { entry, releaseMs: 0, waits: true });
    if (booking === "changed") continue;
    return run.depart(booking === "lost" ? "lost" : "released");
  }
}

/** Stops a saga that cannot go on by itself, for a person to look at. */
export async function stall(tools: DriveTools, run: Run, details: ControlDetails): Promise<void> {
  for (;;) {
    const booking = await book(tools, run, { entry: control("$stall", details), waits: true });
    if (booking === "changed") continue;
    return run.depart(booking === "lost" ? "lost" : "ended");
  }
}
