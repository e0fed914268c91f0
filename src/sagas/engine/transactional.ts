/**
 * A transactional step: its own writes and its checkpoint are one commit, so it happens exactly once. If the
 * checkpoint is refused, the step's writes go with it. A commit whose fate is unknown is read back, not repeated.
 */
import { AmendsError, classify } from "../../core/errors.ts";
import { decide } from "../../core/saga/interpreter.ts";
import { AbandonedTransaction, type Database } from "../../storage/database.ts";
import { BRIEF_RETRIES, persist } from "../../storage/retry.ts";
import { callStep, type CallCommand, type Called } from "./call.ts";
import { accept, checkpointFor, reread, type DriveTools } from "./checkpoint.ts";
import type { Checkpoint } from "../journal/journal.ts";
import type { Run } from "./run.ts";

/**
 * A call that takes this long may outlast what the database allows an idle transaction. When that happens again and
 * again, it is the step that is at fault, not the database.
 */
const SLOW_CALL_MS = 10_000;

/** Rolls the transaction back and carries out of it why. */
class RolledBack extends Error {
  readonly called: Called | "refused" | undefined;

  constructor(called: Called | "refused" | undefined) {
    super("rolled back");
    this.called = called;
  }
}

/** The act has not returned: its connection is thrown away, so that whatever it still sends is never committed. */
class Overdue extends AbandonedTransaction {
  readonly called: Called;

  constructor(called: Called) {
    super();
    this.called = called;
  }
}

/**
 * `again`: it is booked, or somebody from outside added a line first, so that what comes next is decided anew. `lost`
 * needs nothing more; a failed call is booked by whoever asked; undefined was interrupted.
 */
export async function callInTransaction(
  tools: DriveTools,
  run: Run,
  command: CallCommand,
): Promise<"again" | "lost" | Called | undefined> {
  const db = tools.database as Database;
  // An act that does not return keeps SQLite's only connection: rolling back under it would let it write outside.
  const calling = db.dialect.name === "sqlite" ? { ...tools, graceMs: undefined } : tools;
  let sent: Checkpoint | undefined;
  let calls = 0;
  let slowCalls = 0;
  try {
    const work = async (): Promise<void> => {
      if (sent && (await isWritten(tools, sent))) return; // the commit before this try had succeeded
      if (slowCalls >= BRIEF_RETRIES.attemptMax)
        throw new RolledBack({ outcome: databaseFailure(), emissions: [] });
      await db.transaction(async (session, tx) => {
        const begunAtMs = tools.clock.monotonicMs();
        const called = notExpired(await callStep(calling, run, command, tx));
        if (tools.clock.monotonicMs() - begunAtMs >= SLOW_CALL_MS) slowCalls++;
        if (called?.late) throw new Overdue(called);
        if (!called || called.outcome.kind === "failed") throw rollback(db, called, ++calls);
        const { retry } = run.step(command.step);
        const { entry } = decide(run.state, command, called.outcome, retry);
        const checkpoint = checkpointFor(tools, run, { entry, emissions: called.emissions });
        if (!(await tools.journal.appendIn(session, checkpoint))) throw new RolledBack("refused");
        sent = checkpoint;
      }, true);
    };
    await persist(db, work, { attemptMax: Infinity, signal: run.signal });
    accept(tools, run, sent as unknown as Checkpoint);
    return "again";
  } catch (thrown) {
    // The database stayed away until the call was told to stop: that is nobody's outcome.
    if (thrown instanceof AmendsError && classify(thrown) === "transient") return undefined;
    // Whoever repeats database work wraps what is no trouble with the database.
    const error = thrown instanceof AmendsError ? thrown.cause : thrown;
    if (error instanceof Overdue) return withoutDoubt(error.called);
    if (!(error instanceof RolledBack)) return { outcome: databaseFailure(), emissions: [] };
    if (error.called !== "refused") return error.called;
    return (await reread(tools, run)) === "lost" ? "lost" : "again";
  }
}

/** What came too late is rolled back: the step has failed, and did nothing. */
function notExpired(called: Called | undefined): Called | undefined {
  if (called?.expired !== true) return called;
  const failure = { kind: "deadline", label: "DeadlinePassed" } as const;
  return { outcome: { kind: "failed", transient: false, failure }, emissions: [] };
}

/** The call may go on, but nothing that it does will be committed. */
function withoutDoubt(called: Called): Called {
  if (called.outcome.kind === "ok") return called;
  const failure = { ...called.outcome.failure, runningSinceMs: undefined };
  return { ...called, outcome: { ...called.outcome, failure } };
}

async function isWritten(tools: DriveTools, { sagaId, version, token }: Checkpoint): Promise<boolean> {
  const record = await tools.journal.load(sagaId);
  return record?.entries.some((entry) => entry.id === version && entry.token === token) ?? false;
}

/**
 * Trouble with the database inside the act is the database's, not the step's: it is tried again, not booked. What only
 * looks like it (another system that cannot be reached) is the step's after all, once it has lasted.
 */
function rollback(db: Database, called: Called | undefined, calls: number): unknown {
  const thrown = called?.thrown;
  const mayPass =
    thrown !== undefined && classify(thrown) === "transient" && calls < BRIEF_RETRIES.attemptMax;
  if (mayPass && db.dialect.trouble(thrown).kind !== "permanent") return thrown;
  return new RolledBack(called);
}

function databaseFailure(): Called["outcome"] {
  return { kind: "failed", transient: true, failure: { kind: "retry", label: "DatabaseTrouble" } };
}
