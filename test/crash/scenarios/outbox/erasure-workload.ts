/** The workload of the outbox scenarios: erasure entries of one subject, with resolvers and short schedules. */
import {
  type AnyResolver,
  type NewOutboxEntry,
  type Outbox,
  dataMap,
  type ErasureOptions,
} from "amends/erasure";
import type { Database } from "../../../../src/storage/database.ts";
import { raw } from "../../../../src/storage/sql.ts";
import { SUBJECT } from "./personal-data.ts";
import type { Workload } from "../scenario.ts";
import { untilNothingOpen } from "../../harness/open-work.ts";
import type { World } from "../../external-world/world.ts";

export const ATTEMPT_MAX = 4;

/** The timeout is long, because a call waits at its crash point until the other runs have arrived. */
export function schedule(
  leaseMs: number,
  attempts: number = ATTEMPT_MAX,
): Required<Pick<ErasureOptions, "retry" | "lease" | "timeout">> {
  return { retry: { attempts, base: 20, cap: 40 }, lease: leaseMs, timeout: "5m" };
}

export interface ErasureWorkloadOptions {
  readonly resolvers: readonly AnyResolver[];
  readonly entries: readonly Pick<NewOutboxEntry, "resolver">[];
  readonly attempts?: number;
  readonly options?: Pick<ErasureOptions, "onAbandoned" | "requireVerification">;
  readonly concurrency?: number;
  /** The operator's repair after entries were abandoned, before they are requeued. */
  readonly repair?: () => void;
}

/** Enqueues entries of one subject in the caller's transaction, and runs them. */
export function erasureWorkload(
  world: World,
  { resolvers, entries, attempts, options, concurrency = 1, repair }: ErasureWorkloadOptions,
): Workload {
  let outbox: Outbox | undefined;
  const requeueAll = async (): Promise<void> => {
    repair?.();
    const page = await outbox?.listAbandoned();
    const ids = (page?.entries ?? []).map(({ entryId }) => entryId);
    await outbox?.requeue(ids, { by: "operator", reason: "it was repaired" });
  };
  return {
    concurrency,
    parts: (leaseMs) => ({
      // The local phase erases nothing, and the SQLite file is not rebuilt.
      erasure: {
        dataMap: dataMap({ people: { subject: "id" } }),
        rebuildEvery: "never",
        resolvers,
        ...options,
        ...schedule(leaseMs, attempts),
      },
    }),
    onAmends: (amends) => void ({ outbox } = amends.erasure),
    async run(context) {
      await context.database.transaction(async (_, tx) => {
        await world.write(tx, "asked");
        await outbox?.enqueue(
          tx,
          entries.map((entry) => ({
            ...entry,
            subjectId: SUBJECT,
            ref: { kind: entry.resolver, value: "ref" },
          })),
        );
      });
      await context.worker.start();
      await untilNothingOpen(context);
      if (!repair) return;
      await requeueAll();
      await untilNothingOpen(context);
    },
    ...(repair && { operate: requeueAll }),
    check: () => checkAtomicEnqueue(world, entries.length),
  };
}

/** The caller's row and the entries are committed together or not at all. */
async function checkAtomicEnqueue(world: World, entries: number): Promise<readonly string[]> {
  const asked = (await world.ledger()).get("asked") ?? 0;
  const found = await countRows(world.database, "outbox");
  return found === asked * entries
    ? []
    : [`O-01: there are ${found} entries, but the caller wrote ${asked} rows`];
}

export async function countRows(database: Database, table: string, where: string = "true"): Promise<number> {
  const name = database.dialect.table(table).text;
  const [row] = await database.query(raw(`select count(*) as found from ${name} where ${where}`));
  return Number(row?.["found"]);
}
