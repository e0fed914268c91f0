/**
 * Hears calls that have outlived their time. What is known counts: a success that comes before the next call goes out is
 * used, and a saga that stalled because a call still ran goes on once it has returned.
 */
import { decide, isAwaited, returnLines } from "../../core/saga/interpreter.ts";
import { sleep } from "../../storage/clock.ts";
import { book, reread, wakeAfter, type Booking, type DriveTools } from "./checkpoint.ts";
import type { CallCommand, Called } from "./call.ts";
import { ORPHANS_MAX, type OrphanedCall } from "./orphaned-calls.ts";
import type { Run } from "./run.ts";

/** Records every call that has returned; `held` where there is none. */
export async function bookReturned(tools: DriveTools, run: Run): Promise<Booking> {
  for (let booking: Booking = "held"; ;) {
    const returned = run.orphans?.returned();
    if (!returned) return booking;
    // The saga has left, and a person has led it out of its stall: nobody here answers for it any more.
    if (run.departure !== undefined && run.state.status !== "STALLED") return "lost";
    const { step, calls, isLast } = returned;
    const heard = calls.filter(({ isHarmless }) => !isHarmless);
    const success = heard.find((call) => isSuccess(call) && isAwaited(run.state, call.command));
    const done = success && doneLine(run, success);
    const lines = heard.length === 0 ? [] : returnLines(run.state, step, done, isLast);
    booking = lines.length === 0 ? "held" : await write(tools, run, lines, success?.answer);
    if (booking === "lost") return booking;
    // Somebody from outside wrote first: what the success is worth is asked again.
    if (booking === "held") run.orphans?.forget(calls);
  }
}

async function write(
  tools: DriveTools,
  run: Run,
  lines: ReturnType<typeof returnLines>,
  answer: Called | undefined,
): Promise<Booking> {
  const isStalled = run.state.status === "STALLED";
  const entry = lines.at(-1) as (typeof lines)[number];
  // A stalled saga belongs to nobody: it is given to whichever worker comes first.
  const release = isStalled ? { releaseMs: 0, waits: true } : { waits: entry.step.startsWith("$") };
  return book(tools, run, { entry, before: lines.slice(0, -1), emissions: answer?.emissions, ...release });
}

function isSuccess({ answer }: OrphanedCall): boolean {
  return answer?.outcome.kind === "ok";
}

function doneLine(run: Run, { command, answer }: OrphanedCall): ReturnType<typeof decide>["entry"] {
  return decide(run.state, command, (answer as Called).outcome, run.step(command.step).retry).entry;
}

/** Waits for the next try, and meanwhile for the tries before it. Ends early where one of those has succeeded. */
export async function waitHere(
  tools: DriveTools,
  run: Run,
  command: CallCommand,
  waitMs: number,
): Promise<void> {
  const { clock } = tools;
  const dueAtMs = clock.monotonicMs() + wakeAfter(tools, run, command, waitMs);
  const isWaiting = (): boolean => isAwaited(run.state, command) && run.stopReason === undefined;
  for (;;) {
    const leftMs = dueAtMs - clock.monotonicMs();
    const isCrowded = (run.orphans?.running ?? 0) >= ORPHANS_MAX;
    if (!isWaiting() || (leftMs <= 0 && !isCrowded)) return;
    await untilReturn(tools, run, leftMs > 0 ? leftMs : undefined);
    if ((await bookReturned(tools, run)) === "lost") return run.depart("lost");
  }
}

/** A saga does not go to rest while one of its calls runs. False where what comes next must be asked again. */
export async function allReturned(tools: DriveTools, run: Run): Promise<boolean> {
  if (!run.orphans?.any || tools.draining()) return true;
  run.heed();
  await untilReturn(tools, run, undefined);
  const isTold = run.stopReason !== undefined;
  if (isTold && (run.stopReason === "lost" || (await reread(tools, run)) === "lost")) run.depart("lost");
  return false;
}

async function untilReturn(tools: DriveTools, run: Run, ms: number | undefined): Promise<void> {
  const over = new AbortController();
  const told = run.signal;
  const stop = (): void => over.abort();
  told.addEventListener("abort", stop, { once: true });
  const waits = [aborted(over.signal)];
  if (run.orphans) waits.push(run.orphans.nextReturn());
  if (ms !== undefined) waits.push(sleep(tools.clock, ms, over.signal));
  if (told.aborted || run.orphans?.returned()) stop();
  await Promise.race(waits);
  told.removeEventListener("abort", stop);
  over.abort();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}

/** The saga has left, and its slot stays taken until its calls have returned. A stalled one may go on by itself then. */
export async function outlast(tools: DriveTools, run: Run): Promise<void> {
  while ((run.orphans?.running ?? 0) > 0) await run.orphans?.nextReturn();
  const waits = run.departure === "ended" && run.state.status === "STALLED";
  if (waits && (await bookReturned(tools, run)) === "held") tools.dueIn(0);
}
