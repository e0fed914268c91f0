/** Runs one saga: ask the interpreter what is next, do it, book what came of it, again. All waiting is visible here. */
import { decide, needsStart, next, turnEntry, type RetryPolicy } from "../core/saga/interpreter.ts";
import { control, type ControlDetails, type Entry } from "../core/saga/entry.ts";
import { evolve } from "../core/saga/state.ts";
import { sleep } from "../storage/clock.ts";
import {
  accept,
  book,
  checkpointFor,
  deadlineLeftMs,
  factsOf,
  reread,
  tellThrown,
  type DriveTools,
} from "./booking.ts";
import { callStep, type CallCommand, type Called } from "./call.ts";
import { runGroup } from "./group.ts";
import { callGuarded } from "./guarded-call.ts";
import type { Run } from "./run.ts";
import { callInTransaction } from "./transactional.ts";
import { restAfter, SHORT_WAIT_MS, wait } from "./waiting.ts";

export async function drive(tools: DriveTools, run: Run): Promise<void> {
  for (;;) {
    const facts = factsOf(tools, run);
    const command = next(run.state, facts);
    if (command.kind === "end") return run.depart("ended");
    if (command.kind === "turn") {
      const entry = turnEntry(run.state, command.why, facts.late);
      if ((await book(tools, run, entry)) === "lost") return run.depart("lost");
      continue;
    }
    if (command.kind === "group") {
      await runGroup(tools, run);
      if (run.departure) return;
      continue;
    }
    if (command.kind === "sleep" || command.kind === "wait") {
      await wait(tools, run, command);
      if (run.departure) return;
      continue;
    }
    if (tools.draining()) return release(tools, run);
    if (needsStart(run.state, command)) {
      const started: Entry = {
        step: command.step,
        action: actionOf(command),
        status: "STARTED",
        details: null,
      };
      if ((await book(tools, run, started)) === "lost") return run.depart("lost");
      continue;
    }
    const step = run.step(command.step);
    run.resetCall();
    if (step.deadlineMs !== undefined && command.kind === "act" && command.attempt === 1) {
      run.stepBegunAtMs = tools.clock.monotonicMs();
    }
    const pending =
      step.fallback !== undefined && command.kind === "act"
        ? callGuarded(tools, run, command, step)
        : step.transaction
          ? callInTransaction(tools, run, command)
          : callStep(tools, run, command, undefined);
    const called = pending instanceof Promise ? await pending : pending;
    if (called === "again") continue;
    if (called === "lost") return run.depart("lost");
    if (called === undefined) return run.stopReason === "lost" ? run.depart("lost") : release(tools, run);
    if (called.outcome.kind === "ok") {
      // The way that almost every step goes has one wait: for its line to be durable.
      const { entry } = decide(run.state, command, called.outcome, step.retry);
      const rest = run.hasWaits ? await restAfter(tools, run, entry) : undefined;
      const checkpoint = checkpointFor(tools, run, entry, called.emissions, rest?.releaseMs, false, rest);
      if (await tools.journal.append(checkpoint)) {
        accept(tools, run, checkpoint);
        if (rest === undefined) continue;
        tools.dueIn(rest.releaseMs);
        return run.depart("released");
      }
      if ((await reread(tools, run)) === "lost") return run.depart("lost");
    }
    const waitMs = await settle(tools, run, command, called);
    run.resetCall();
    if (run.departure) return;
    if (waitMs > 0) await sleep(tools.clock, waitMs, run.signal);
  }
}

export function actionOf(command: CallCommand): "act" | "compensate" {
  return command.kind === "act" ? "act" : "compensate";
}

/** Books what came of a call. Returns how long to wait, in place, before the next one. */
async function settle(tools: DriveTools, run: Run, command: CallCommand, called: Called): Promise<number> {
  const step = run.step(command.step);
  const policy: RetryPolicy = command.kind === "act" ? step.retry : step.compensateRetry;
  for (;;) {
    const { entry, ...decision } = decide(run.state, command, called.outcome, policy);
    // A saga that turns back now has nothing to wait for.
    const turns =
      decision.waitMs !== undefined && next(evolve(run.state, entry), factsOf(tools, run)).kind === "turn";
    const waitMs = turns ? undefined : decision.waitMs;
    const isShort = waitMs !== undefined && waitMs <= SHORT_WAIT_MS;
    const releaseMs = waitMs === undefined || isShort ? undefined : wakeAfter(tools, run, command, waitMs);
    const booking = await book(tools, run, entry, called.emissions, releaseMs, decision.waitMs !== undefined);
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
    return isShort ? waitMs : 0;
  }
}

/** A saga that sleeps must wake for its deadline too. */
function wakeAfter(tools: DriveTools, run: Run, command: CallCommand, waitMs: number): number {
  const now = tools.clock.monotonicMs();
  let wake = waitMs;
  if (command.kind === "act") {
    const { deadlineMs } = run.step(command.step);
    if (deadlineMs !== undefined) wake = Math.min(wake, run.stepBegunAtMs + deadlineMs - now);
  }
  if (run.state.status === "RUNNING") wake = Math.min(wake, deadlineLeftMs(tools, run) ?? wake);
  return Math.max(0, Math.ceil(wake));
}

/** Gives the saga back. Whatever call was begun is in doubt for whoever takes it next. */
async function release(tools: DriveTools, run: Run): Promise<void> {
  const entry = control("$release", {});
  for (;;) {
    const booking = await book(tools, run, entry, [], 0, true);
    if (booking === "changed") continue;
    return run.depart(booking === "lost" ? "lost" : "released");
  }
}

/** Stops a saga that cannot go on by itself, for a person to look at. */
export async function stall(tools: DriveTools, run: Run, details: ControlDetails): Promise<void> {
  for (;;) {
    const booking = await book(tools, run, control("$stall", details), [], undefined, true);
    if (booking === "changed") continue;
    return run.depart(booking === "lost" ? "lost" : "ended");
  }
}
