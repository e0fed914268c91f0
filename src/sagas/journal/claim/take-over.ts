/**
 * What the transaction of a claim does with the claimed rows: it records the plans of sagas that a reference started, reads the
 * logs, and writes the `$claim` lines.
 */
import { claimCount } from "../../../core/claim-token.ts";
import { control, type Entry } from "../../../core/saga/entry.ts";
import { evolve } from "../../../core/saga/evolve.ts";
import { openingName } from "../../../core/saga/path.ts";
import { encodePlan, UNRECORDED_PLAN } from "../../../core/saga/plan.ts";
import { openingLines } from "../../../core/saga/steps/group.ts";
import type { Row, Session } from "../../../storage/database.ts";
import type { KnownKind, LogEntry, SagaRecord } from "../journal.ts";
import { insertLines } from "../line-queries.ts";
import { recordPlans, selectLogs, stallDamaged } from "../queries.ts";
import { ForeignLines, toLogEntry, toRecord } from "../rows.ts";

/** The first claim of sagas that a reference started records their plans, which every later reader takes from the row. */
export async function withPlans(
  session: Session,
  rows: readonly Row[],
  kinds: readonly KnownKind[],
): Promise<readonly Row[]> {
  if (rows.every((row) => row["plan"] !== UNRECORDED_PLAN)) return rows;
  const recorded: (KnownKind & { readonly id: string })[] = [];
  const planned = rows.map((row) => {
    if (row["plan"] !== UNRECORDED_PLAN) return row;
    const isOf = ({ name, version }: KnownKind): boolean =>
      name === row["name"] && version === Number(row["definition"]);
    const kind = kinds.find(isOf) as KnownKind; // only known kinds are claimed
    recorded.push({ ...kind, id: row["id"] as string });
    const beganAtMs = Number(row["run_at"] ?? row["created_at"]);
    const deadline = kind.deadlineMs === undefined ? null : beganAtMs + kind.deadlineMs;
    return { ...row, plan: encodePlan(kind.plan), deadline_at: row["deadline_at"] ?? deadline };
  });
  await session.query(recordPlans(session.dialect, recorded));
  return planned;
}

/** Writes the `$claim` lines. Each takes the next version of its saga, so that every later line of the last owner is refused. */
export async function takeOver(
  session: Session,
  rows: readonly Row[],
  owner: string,
): Promise<readonly SagaRecord[]> {
  const taken: SagaRecord[] = [];
  let open = rows;
  for (let round = 1; open.length > 0; round++) {
    const logs = await readLogs(session, open, round > 1);
    const unreadable: string[] = [];
    const foreign: string[] = [];
    const claims = open.flatMap((row) => {
      const id = row["id"] as string;
      try {
        const before = toRecord(row, logs.get(id) ?? []);
        return [{ row, before, entries: claimLines(before, owner, claimCount(Number(row["token"])) > 1) }];
      } catch (error) {
        // One damaged saga must not keep the others from being claimed.
        (error instanceof ForeignLines ? foreign : unreadable).push(id);
        return [];
      }
    });
    for (const [kind, ids] of [
      ["unreadable", unreadable],
      ["foreign-lines", foreign],
    ] as const)
      if (ids.length > 0) await session.query(stallDamaged(session.dialect, kind, ids));
    const lines = claims.flatMap(({ row, before, entries }) =>
      entries.map((entry, index) => ({
        sagaId: before.id,
        version: before.version + 1 + index,
        token: Number(row["token"]),
        entry,
      })),
    );
    const written = new Set(
      (await session.query(insertLines(session.dialect, lines))).map((row) => row["saga_id"] as string),
    );
    for (const { row, before, entries } of claims) {
      if (!written.has(before.id)) continue;
      const token = Number(row["token"]);
      const version = before.version + entries.length;
      taken.push({ ...before, version, token, state: entries.reduce(evolve, before.state) });
    }
    // The last owner wrote a line between the read and the insert. Its line counts: read all lines again and append after it.
    const done = new Set([...written, ...unreadable, ...foreign]);
    open = open.filter((row) => !done.has(row["id"] as string));
  }
  return taken;
}

async function readLogs(
  session: Session,
  rows: readonly Row[],
  all: boolean,
): Promise<Map<string, LogEntry[]>> {
  const grouped = new Map<string, LogEntry[]>();
  // At its first claim a saga has no lines: no worker has run it.
  const ids = rows
    .filter((row) => all || claimCount(Number(row["token"])) > 1 || Number(row["version"]) > 1)
    .map((row) => row["id"] as string);
  if (ids.length === 0) return grouped;
  for (const row of await session.query(selectLogs(session.dialect, ids))) {
    const id = row["saga_id"] as string;
    const entries = grouped.get(id) ?? [];
    entries.push(toLogEntry(row));
    grouped.set(id, entries);
  }
  return grouped;
}

/**
 * The lines of a claim. The first claim also begins the first act, and the acts of its group, unless the deadline has passed.
 * Only a first claim writes several lines, when no last owner can write in between.
 */
export function claimLines(before: SagaRecord, owner: string, again: boolean): readonly Entry[] {
  const entry = control("$claim", { by: owner, kind: again ? "again" : "first" });
  const first = before.plan[0];
  const expired = before.deadlineAtMs !== undefined && before.deadlineAtMs <= before.nowMs;
  const { status, cancel, isReversal } = before.state;
  const begins = status === "PENDING" && first !== undefined && !cancel && !expired && !isReversal;
  if (!begins) return [entry];
  return [{ ...entry, next: { step: openingName(first), action: "act" } }, ...openingLines(before.plan)];
}
