/** A desk for entries of one kind: however they are driven, they are claimed, renewed, given back and fenced in one way. */
import type { OutboxKind } from "../core/outbox/entry.ts";
import type { Row } from "../storage/database.ts";
import { Desk, type Claimed, type Hold } from "../runtime/lease-pool.ts";
import type { Host } from "../runtime/part.ts";
import { DutyLoop } from "../runtime/loop.ts";
import type { OutboxBooks } from "./outcome-writer.ts";

/** Larger claims are no cheaper, and nothing of theirs is settled while they are under way. */
const CLAIM_MAX = 500;

export type DeskHost = Pick<Host, "clock" | "graceMs" | "closing" | "employ" | "onBug" | "tracer" | "warn">;

export interface ClaimedEntry extends Claimed {
  readonly row: Row;
}

export interface EntryDeskOptions {
  readonly name: string;
  readonly kind: OutboxKind;
  /** Entries of other names are left for whoever knows them; without names, every entry of the kind is ours. */
  readonly names?: () => readonly string[];
  readonly host: DeskHost;
  readonly books: OutboxBooks;
  readonly leaseMs: number;
  readonly run: (row: Row, hold: Hold) => Promise<void>;
}

export function entryDesk(options: EntryDeskOptions): Desk<ClaimedEntry> {
  const { name, kind, names, host, books, leaseMs, run } = options;
  return new Desk<ClaimedEntry>({
    name,
    clock: host.clock,
    leaseMs,
    claimMax: CLAIM_MAX,
    claim: async (limit, except) => {
      const rows = await books.claim(kind, names?.(), limit, leaseMs, except);
      return rows.map((row) => ({ id: row["entry_id"] as string, token: Number(row["token"]), row }));
    },
    renew: (pieces) =>
      books.renew(
        pieces.map(({ id, token }) => ({ entryId: id, token })),
        leaseMs,
      ),
    run: ({ row }, hold) => run(row, hold),
    release: async ({ id, token }) => {
      await books.settle({ entryId: id, token, event: "release", waitMs: 0 });
    },
    drained: () => books.drained(),
    onBug: (error) => host.onBug(error),
  });
}

/** One batch, without a worker: claims, keeps the leases alive, and returns when every claim was settled or lost. */
export async function runBatch(desk: Desk<ClaimedEntry>, host: DeskHost, limit: number): Promise<number> {
  const taken = await desk.claim(limit);
  if (taken.length === 0) return 0;
  const over = new AbortController();
  const { clock } = host;
  const warn: Host["warn"] = (fields, message) => host.warn(fields, message);
  const renewing = new DutyLoop(desk, { clock, owner: "", pollMs: desk.renewEveryMs, warn }).renewing(
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
