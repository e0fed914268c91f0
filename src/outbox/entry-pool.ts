/** The lease pool for entries of one kind: claims, renews, releases and fences them. */
import type { OutboxKind } from "../core/outbox/entry.ts";
import type { DutyLook } from "../runtime/duty.ts";
import { LeasePool, type Claimed } from "../runtime/lease-pool.ts";
import type { Lease } from "../runtime/lease.ts";
import type { PartContext } from "../runtime/part.ts";
import { DutyLoop } from "../runtime/polling/loop.ts";
import { LaneTurns } from "../storage/lanes.ts";
import type { OutboxWriter } from "./outcome-writer.ts";
import type { ClaimOptions } from "./queries.ts";
import type { EntryTable, HeldEntry } from "./rows.ts";

/** The largest claim: larger ones cost more time before the first settle and save nothing. */
const CLAIM_MAX = 500;

export type PoolContext = Pick<
  PartContext,
  "clock" | "graceMs" | "closing" | "onBug" | "tracer" | "warn" | "watch"
>;

export interface ClaimedEntry<Entry> extends Claimed {
  readonly row: Entry;
}

/** How entries of some lanes are found and claimed. */
export interface EntryClaims<Entry> {
  look(names: () => readonly string[]): DutyLook;
  claim(options: ClaimOptions): Promise<readonly Entry[]>;
}

export interface EntryPoolOptions<Entry extends HeldEntry> {
  readonly name: string;
  readonly kind: OutboxKind;
  /** The columns that are read of each entry. */
  readonly table: EntryTable<Entry>;
  /** Only entries of these lanes are claimed, a share of each. Default: every entry of the kind. */
  readonly lanes?: { readonly names: () => readonly string[]; readonly of: (row: Entry) => string };
  /** Default: entries are claimed in one statement, which knows no limits by key. */
  readonly claims?: EntryClaims<Entry>;
  readonly host: PoolContext;
  readonly writer: OutboxWriter;
  readonly leaseMs: number;
  readonly run: (row: Entry, lease: Lease) => Promise<void>;
}

export function entryPool<Entry extends HeldEntry>(
  options: EntryPoolOptions<Entry>,
): LeasePool<ClaimedEntry<Entry>> {
  const { name, kind, table, lanes, claims, host, writer, leaseMs, run } = options;
  const turns = new LaneTurns();
  return new LeasePool<ClaimedEntry<Entry>>({
    name,
    clock: host.clock,
    leaseMs,
    claimMax: CLAIM_MAX,
    look: claims && lanes ? claims.look(lanes.names) : writer.look(kind, lanes?.names),
    claim: async (limit, except) => {
      const names = lanes && turns.order(lanes.names());
      const wanted = { kind, names, limit, leaseMs, except };
      const rows = await (claims ? claims.claim(wanted) : writer.claim(table, wanted));
      if (lanes) turns.served(rows.map(lanes.of));
      return rows.map((row) => ({ id: row.entryId, token: row.token, row }));
    },
    renew: (items) =>
      writer.renew(
        items.map(({ id, token }) => ({ entryId: id, token })),
        leaseMs,
      ),
    run: ({ row }, lease) => run(row, lease),
    release: async ({ id, token }) => {
      await writer.settle({ entryId: id, token, event: "release", waitMs: 0 });
    },
    drained: () => writer.drained(),
    onBug: (error) => host.onBug(error),
  });
}

/** Runs one batch without a worker: claims, renews the leases, and returns when every claim is settled or lost. */
export async function runBatch<Entry>(
  pool: LeasePool<ClaimedEntry<Entry>>,
  host: PoolContext,
  limit: number,
): Promise<number> {
  const taken = await pool.claim(limit);
  if (taken.length === 0) return 0;
  const over = new AbortController();
  const { clock } = host;
  const watch: PartContext["watch"] = (operation) => host.watch(operation);
  const renewing = new DutyLoop(pool, { clock, owner: "", pollMs: pool.renewEveryMs, watch }).renewing(
    over.signal,
  );
  try {
    await Promise.all(taken.map(({ gone }) => gone));
  } finally {
    over.abort();
    await renewing;
  }
  return taken.length;
}
