/** The chores of retention, one per part. Each removes one batch at a time, in a transaction of its own. */
import { selectNow } from "../../storage/database-time.ts";
import type { Row, Session } from "../../storage/database.ts";
import type { SagaStatus } from "../../core/saga/machine.ts";
import { deleteSignals } from "../../sagas/journal/signal-queries.ts";
import type { SagaView } from "../../sagas/view/view.ts";
import { prune } from "../../webhooks/retention.ts";
import { archiveSagas } from "../archive.ts";
import { deleteArchived, selectForgotten } from "../archive-queries.ts";
import type { CheckedPolicy } from "./policy.ts";
import {
  deleteEntries,
  deleteLogs,
  deleteRuns,
  deleteSagas,
  lookThrough,
  selectExpired,
  selectStillExpired,
  selectExpiredRuns,
} from "./queries.ts";

/** One transaction, repeated where trouble passes, by the role that may. */
export type Transact = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

export interface Swept {
  readonly removed: number;
  /** There may be more: it does not rest yet. */
  readonly more: boolean;
}

export type Chore = () => Promise<Swept>;

export interface ChoreTools {
  readonly transact: Transact;
  readonly batch: number;
  readonly inspect: (id: string) => Promise<SagaView | undefined>;
}

export function choresOf(policy: CheckedPolicy, tools: ChoreTools): readonly Chore[] {
  const { archivedMs, doneMs, untakenMs, webhooksMs } = policy;
  const { transact, batch } = tools;
  return [
    ...policy.sagas.map(([status, afterMs]) => async () => {
      const ids = await transact(async (session) => {
        const rows = await session.query(selectExpired(session.dialect, status, afterMs, batch));
        return rows.map((row) => row["id"] as string);
      });
      const removed = ids.length > 0 ? await removeSagas(tools, policy.archive, ids, status, afterMs) : 0;
      return { removed, more: ids.length >= batch };
    }),
    ...(archivedMs === undefined
      ? []
      : [
          () =>
            transact(async (session) => {
              const { dialect } = session;
              const rows = await session.query(selectForgotten(dialect, archivedMs, batch));
              const ids = rows.map((row) => row["id"] as string);
              if (ids.length > 0) await session.query(deleteArchived(dialect, ids, archivedMs));
              return swept(ids.length, batch);
            }),
        ]),
    ...policy.flows.map(
      ([status, afterMs]) =>
        () =>
          transact(async (session) => {
            const { dialect } = session;
            const rows = await session.query(selectExpiredRuns(dialect, status, afterMs, batch));
            if (rows.length === 0) return swept(0, batch);
            const trail = rows.flatMap((row) => (row["trail"] as string).split(" "));
            await session.query(deleteEntries(dialect, trail));
            await session.query(
              deleteRuns(
                dialect,
                rows.map((row) => row["saga_id"] as string),
              ),
            );
            return swept(rows.length, batch);
          }),
    ),
    ...(doneMs === undefined && untakenMs === undefined ? [] : [outboxChore(tools, doneMs, untakenMs)]),
    ...(webhooksMs === undefined
      ? []
      : [
          async () => {
            const { deliveries, events } = await prune(transact, webhooksMs, 1, batch);
            return { removed: deliveries + events, more: Math.max(deliveries, events) >= batch };
          },
        ]),
  ];
}

function swept(removed: number, batch: number): Swept {
  return { removed, more: removed >= batch };
}

/** Nothing is locked while the user's own archive is written: an ended saga does not change. */
async function removeSagas(
  { transact, inspect }: ChoreTools,
  archive: CheckedPolicy["archive"],
  found: readonly string[],
  status: SagaStatus,
  afterMs: number,
): Promise<number> {
  if (typeof archive === "function") {
    const views: SagaView[] = [];
    for (const id of found) {
      const view = await inspect(id);
      if (view) views.push(view);
    }
    await archive(views);
  }
  return transact(async (session) => {
    const { dialect } = session;
    const idsOf = (rows: readonly Row[]): readonly string[] => rows.map((row) => row["id"] as string);
    if (archive === true) {
      const still = idsOf(await session.query(selectStillExpired(dialect, found, status, afterMs)));
      if (still.length > 0) await archiveSagas(session, still);
    }
    const ids = idsOf(await session.query(deleteSagas(dialect, found, status, afterMs)));
    if (ids.length === 0) return 0;
    await session.query(deleteLogs(dialect, ids));
    await session.query(deleteSignals(dialect, ids));
    return ids.length;
  });
}

const LOWEST = "00000000-0000-0000-0000-000000000000";
const HIGHEST = "ffffffff-ffff-ffff-ffff-ffffffffffff";
const DAY_MS = 86_400_000;

/**
 * The outbox has no index of what is done with: each entry would be written into it once more. Its ids begin with the
 * instant at which they were made, so that the key itself leads along what is old; ids that somebody chose otherwise
 * sort behind all of them, and are looked through after them. Round after round, it goes on where it stopped.
 */
function outboxChore(
  { transact, batch }: ChoreTools,
  doneMs: number | undefined,
  untakenMs: number | undefined,
): Chore {
  const keptMs = Math.min(doneMs ?? Number.POSITIVE_INFINITY, untakenMs ?? Number.POSITIVE_INFINITY);
  let place = { range: 0, after: LOWEST };
  return () =>
    transact(async (session) => {
      const [now] = await session.query(selectNow(session.dialect));
      const nowMs = Number(now?.["now_at"]);
      const ranges = [
        [LOWEST, idOf(nowMs - keptMs)],
        [idOf(nowMs + DAY_MS), HIGHEST],
      ] as const;
      const [start, end] = ranges[place.range] as (typeof ranges)[number];
      const after = place.after > start ? place.after : start;
      const rows = await session.query(
        lookThrough(session.dialect, { after, end, limit: batch }, { doneMs, untakenMs }),
      );
      const ids = rows.filter((row) => Number(row["gone"]) === 1).map((row) => row["entry_id"] as string);
      if (ids.length > 0) await session.query(deleteEntries(session.dialect, ids));
      const last = rows.length < batch ? undefined : (rows.at(-1)?.["entry_id"] as string);
      const isOver = last === undefined && place.range === ranges.length - 1;
      place =
        last !== undefined
          ? { range: place.range, after: last }
          : { range: isOver ? 0 : place.range + 1, after: LOWEST };
      return { removed: ids.length, more: !isOver };
    });
}

/** The lowest id that could have been made at this instant. */
function idOf(ms: number): string {
  const hex = Math.max(0, Math.floor(ms)).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-0000-0000-000000000000`;
}
