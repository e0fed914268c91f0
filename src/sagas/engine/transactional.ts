/**
 * A transactional step: its own writes and its checkpoint are one commit, so it happens exactly once. If the checkpoint
 * is refused, the step's writes are rolled back with it.
 */
import { callInTransaction, type Attempted } from "../../runtime/own-transaction.ts";
import type { Database, Session } from "../../storage/database.ts";
import type { RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { Checkpoint } from "../journal/journal.ts";
import type { Called } from "./call.ts";
import type { Answer } from "./guarded-call.ts";

export interface TransactionalStep {
  readonly db: Database;
  readonly signal: AbortSignal;
  readonly onRefused: (refused: RefusedWrites) => void;
  call(tx: unknown): Called | undefined | Promise<Called | undefined>;
  /** Writes the checkpoint of the success in this transaction; undefined if the fence refused it. */
  write(session: Session, called: Called): Promise<Checkpoint | undefined>;
  isWritten(checkpoint: Checkpoint): Promise<boolean>;
  /** The step's writes and its checkpoint are committed. */
  accept(checkpoint: Checkpoint): void;
  /** The fence refused the checkpoint. */
  reread(): Promise<"changed" | "lost">;
}

const TROUBLE: Called = {
  outcome: { kind: "failed", transient: true, failure: { kind: "retry", label: "DatabaseTrouble" } },
  emissions: [],
};

export async function callStepInTransaction(step: TransactionalStep): Promise<Answer> {
  const ended = await callInTransaction<Called | undefined, Checkpoint>({
    db: step.db,
    signal: step.signal,
    onRefused: step.onRefused,
    call: async (tx) => attempted(await step.call(tx)),
    write: (session, called) => step.write(session, called as Called),
    isCommitted: (checkpoint) => step.isWritten(checkpoint),
  });
  switch (ended.kind) {
    case "committed":
      step.accept(ended.written);
      return "recorded";
    case "refused":
      return step.reread();
    case "rolledBack":
      return ended.end;
    case "interrupted":
      return undefined;
    default: // trouble with the database that does not pass
      return TROUBLE;
  }
}

/** A success that came too late is rolled back: the step has failed, and did nothing. */
function attempted(called: Called | undefined): Attempted<Called | undefined> {
  if (called?.expired) {
    const failure = { kind: "deadline", label: "DeadlinePassed" } as const;
    const end: Called = { outcome: { kind: "failed", transient: false, failure }, emissions: [] };
    return { end, isSuccess: false, isLate: false };
  }
  if (called?.late) return { end: withoutDoubt(called), isSuccess: false, isLate: true };
  if (called?.outcome.kind !== "failed")
    return { end: called, isSuccess: called !== undefined, isLate: false };
  // Past its deadline the step has failed for that reason, whatever its last statement says.
  const thrown = called.outcome.failure.kind === "deadline" ? undefined : called.thrown;
  return { end: called, isSuccess: false, isLate: false, thrown };
}

/** The call may go on, but nothing that it does will be committed. */
function withoutDoubt(called: Called): Called {
  if (called.outcome.kind === "ok") return called;
  const failure = { ...called.outcome.failure, runningSinceMs: undefined };
  return { ...called, outcome: { ...called.outcome, failure } };
}
