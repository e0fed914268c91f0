/**
 * A transactional step: its own writes and its checkpoint are one commit, so it happens exactly once. If the checkpoint
 * is refused, the step's writes are rolled back with it.
 */
import { decide } from "../../core/saga/interpreter.ts";
import { callInTransaction, graceInTransaction, type Attempted } from "../../runtime/own-transaction.ts";
import type { Database } from "../../storage/database.ts";
import { callStep, type CallCommand, type Called } from "./call.ts";
import { accept, checkpointFor, reread, type DriveTools } from "./checkpoint.ts";
import type { Checkpoint } from "../journal/journal.ts";
import type { Run } from "./run.ts";

const TROUBLE: Called = {
  outcome: { kind: "failed", transient: true, failure: { kind: "retry", label: "DatabaseTrouble" } },
  emissions: [],
};

/**
 * `again`: the checkpoint is written, or an operator added a line first: the next command is decided anew. `lost`: another
 * worker has the saga. A failed call is still to be recorded; undefined was interrupted.
 */
export async function callStepInTransaction(
  tools: DriveTools,
  run: Run,
  command: CallCommand,
): Promise<"again" | "lost" | Called | undefined> {
  const db = tools.database as Database;
  const calling = { ...tools, graceMs: graceInTransaction(db, tools.graceMs) };
  const ended = await callInTransaction<Called | undefined, Checkpoint>({
    db,
    signal: run.signal,
    call: async (tx) => attempted(await callStep(calling, run, command, tx)),
    write: async (session, called) => {
      const { outcome, emissions } = called as Called;
      const { entry } = decide(run.state, command, outcome, run.step(command.step).retry);
      const checkpoint = checkpointFor(tools, run, { entry, emissions });
      return (await tools.journal.appendIn(session, checkpoint)) ? checkpoint : undefined;
    },
    isCommitted: (checkpoint) => isWritten(tools, checkpoint),
  });
  switch (ended.kind) {
    case "committed":
      accept(tools, run, ended.written);
      return "again";
    case "refused":
      return (await reread(tools, run)) === "lost" ? "lost" : "again";
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

async function isWritten(tools: DriveTools, { sagaId, version, token }: Checkpoint): Promise<boolean> {
  const record = await tools.journal.load(sagaId);
  return record?.entries.some((entry) => entry.id === version && entry.token === token) ?? false;
}
