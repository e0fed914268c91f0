/** Compares entries with the audit trail: one event for each transition of an entry, and one completion per request. */
import type { AuditType, NewAuditEvent } from "../../../src/audit/event.ts";
import { BLOCKING, type OutboxStatus } from "../../../src/core/outbox/machine.ts";
import type { Row } from "../../../src/storage/database.ts";
import type { OutboxExpectations } from "./outbox-invariants.ts";

export interface Fact extends NewAuditEvent {
  /** Its position in the trail. */
  readonly at: number;
}

const WORDS = { erase: "ERASURE", rectify: "RECTIFICATION" } as const;

function typeOf(row: Row, what: string): AuditType {
  return `${WORDS[row["operation"] as keyof typeof WORDS]}_${what}` as AuditType;
}

function isOf({ payload }: Fact, row: Row): boolean {
  return payload["entry_id"] === row["entry_id"];
}

/** The events of each entry match its row, and no event names an entry that does not exist. */
export function checkEvents(entries: readonly Row[], facts: readonly Fact[]): string[] {
  const known = new Set(entries.map((row) => row["entry_id"]));
  const phantoms = facts.filter(({ payload }) => "entry_id" in payload && !known.has(payload["entry_id"]));
  const wrong = phantoms.map(({ type }) => `I9: ${type} is recorded for an entry that does not exist`);
  for (const row of entries.filter(({ name }) => name !== "$local"))
    wrong.push(
      ...checkEntry(
        row,
        facts.filter((fact) => isOf(fact, row)),
      ),
    );
  return wrong;
}

function checkEntry(row: Row, facts: readonly Fact[]): string[] {
  const wrong: string[] = [];
  const status = row["status"] as OutboxStatus;
  const [requeues, horizons] = [Number(row["requeues"]), Number(row["horizons"])];
  const expect = (rule: string, what: string, least: number, most: number = least): void => {
    const type = what.startsWith("ERASURE_") ? what : typeOf(row, what);
    const found = facts.filter((fact) => fact.type === type).length;
    if (found >= least && found <= most) return;
    const range = least === most ? String(least) : `${least} to ${most}`;
    wrong.push(
      `${rule}: entry ${String(row["entry_id"])} (${String(row["name"])}, ${status}): ${type} is recorded ${found} times, not ${range}`,
    );
  };
  const isVerifying = row["verification"] !== null;
  const isDone = status === "succeeded" || isVerifying;
  // A requeue resets a verification, and the call before it had succeeded too.
  expect("I9", "STEP_SUCCEEDED", isDone ? 1 : 0, isDone ? 1 + requeues : requeues);
  const wasGivenUp = status === "superseded" ? 1 : 0;
  const givenUp = requeues + (status === "abandoned" ? 1 : 0);
  expect("I9", "STEP_FAILED", givenUp, givenUp + wasGivenUp);
  expect("I9", "STEP_SUPERSEDED", status === "superseded" ? 1 : 0);
  expect("O-16", "ERASURE_REQUEUED", requeues);
  expect("O-11", "ERASURE_EXPIRY_SCHEDULED", horizons);
  const isVerified = isVerifying && status === "succeeded";
  const verdicts = facts.filter(({ type }) => type.startsWith("ERASURE_EXTERNAL_")).length;
  if (isVerified && verdicts === 0)
    wrong.push(`O-12: entry ${String(row["entry_id"])}: the verdict of its verification is missing`);
  expect("O-12", "ERASURE_EXTERNAL_VERIFIED", 0, isVerifying ? 1 : requeues);
  return wrong;
}

/** A request has one completion, after all its entries. */
export function checkCompletions(
  entries: readonly Row[],
  facts: readonly Fact[],
  { requiresVerification = false }: OutboxExpectations,
): string[] {
  const wrong: string[] = [];
  const names = new Set(entries.map((row) => `${String(row["operation"])} ${String(row["subject_id"])}`));
  for (const [operation, word] of Object.entries(WORDS))
    for (const { type, subjectId } of facts)
      if (type.startsWith(`${word}_`) && !type.endsWith("_FAILED")) names.add(`${operation} ${subjectId}`);
  for (const name of names) {
    const [operation = "", subjectId = ""] = name.split(" ");
    const word = WORDS[operation as keyof typeof WORDS];
    const own = facts.filter((fact) => fact.subjectId === subjectId);
    const of = (what: string): readonly Fact[] => own.filter(({ type }) => type === `${word}_${what}`);
    const rows = entries.filter((row) => row["subject_id"] === subjectId && row["operation"] === operation);
    const completions = of("COMPLETED");
    const generations = new Set(rows.map((row) => row["generation"])).size;
    const most = Math.max(1, generations, of("REQUESTED").length);
    const report = (what: string): void => void wrong.push(`O-13: ${name}: ${what}`);
    if (completions.length > most) report(`there are ${completions.length} completions of ${most} requests`);
    const blocking = rows.filter((row) => isBlocking(row));
    const [last] = completions.slice(-1);
    // If an erasure superseded every rectification, there is nothing to complete.
    const isAsked =
      rows.length > 0
        ? rows.some((row) => row["status"] === "succeeded" || row["verification"] !== null)
        : of("LOCAL_COMPLETED").length > 0;
    if (isAsked && blocking.length === 0 && !last) report("no entry is blocking, but it was never completed");
    if (!last) continue;
    if (blocking.length > 0 && most === 1)
      report(`it was completed while ${blocking.length} entries are blocking`);
    // The last completion follows the end of every entry, unless a newer request is still open.
    const ends = requiresVerification ? ["_STEP_SUCCEEDED", "_EXTERNAL_VERIFIED"] : ["_STEP_SUCCEEDED"];
    for (const row of rows.filter((one) => !isBlocking(one))) {
      const end = own.findLast((fact) => isOf(fact, row) && ends.some((one) => fact.type.endsWith(one)));
      if (end && blocking.length === 0 && end.at > last.at)
        report(`it was completed before entry ${String(row["entry_id"])} had succeeded`);
    }
  }
  return wrong;
}

function isBlocking(row: Row): boolean {
  return BLOCKING.includes(row["status"] as OutboxStatus) && row["verification"] !== "pending";
}
