/** What scenarios of the outbox have in common: a runner beside an Amends, short schedules, and waiting for the end. */
import {
  type AnyResolver,
  type NewOutboxEntry,
  type Outbox,
  dataMap,
  type ErasureOptions,
} from "amends/erasure";
import type { Database } from "../../src/storage/database.ts";
import { raw } from "../../src/storage/sql.ts";
import { SUBJECT } from "./people.ts";
import type { Play, Stage } from "./scenario.ts";
import { openWork } from "./standing.ts";
import type { World } from "./world.ts";

export const ATTEMPT_MAX = 4;

/** Calls wait at their points for as long as the other lanes need: nothing here may run out of time. */
export function schedule(
  leaseMs: number,
  attempts: number = ATTEMPT_MAX,
): Required<Pick<ErasureOptions, "retry" | "lease" | "timeout">> {
  return { retry: { attempts, base: 20, cap: 40 }, lease: leaseMs, timeout: "5m" };
}

export interface DeliveryTask {
  readonly resolvers: readonly AnyResolver[];
  readonly entries: readonly Pick<NewOutboxEntry, "resolver">[];
  readonly attempts?: number;
  readonly options?: Pick<ErasureOptions, "onAbandoned" | "requireVerification">;
  readonly concurrency?: number;
  /** What a person does when entries were abandoned, before they are requeued. */
  readonly repair?: () => void;
}

/** Entries of one subject, written in a caller's transaction, and a runner that carries them out. */
export function errand(
  world: World,
  { resolvers, entries, attempts, options, concurrency = 1, repair }: DeliveryTask,
): Play {
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
      // Nothing of the application's own is erased, and no file is rebuilt.
      erasure: {
        dataMap: dataMap({ people: { subject: "id" } }),
        rebuildEvery: "never",
        resolvers,
        ...options,
        ...schedule(leaseMs, attempts),
      },
    }),
    meet: (amends) => void ({ outbox } = amends.erasure),
    async run(stage) {
      await stage.database.transaction(async (_, tx) => {
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
      await stage.worker.start();
      await untilOver(stage);
      if (!repair) return;
      await requeueAll();
      await untilOver(stage);
    },
    ...(repair && { operate: requeueAll }),
    check: () => agree(world, entries.length),
  };
}

/** The caller's own row and the entries are there together, or neither is. */
async function agree(world: World, entries: number): Promise<readonly string[]> {
  const asked = (await world.ledger()).get("asked") ?? 0;
  const found = await countRows(world.database, "outbox");
  return found === asked * entries ? [] : [`O-01: ${found} entries, and the caller wrote ${asked} rows`];
}

export async function countRows(database: Database, table: string, where: string = "true"): Promise<number> {
  const name = database.dialect.table(table).text;
  const [row] = await database.query(raw(`select count(*) as found from ${name} where ${where}`));
  return Number(row?.["found"]);
}

/** Nothing is open any more, or what was ours was taken by another process. */
export async function untilOver({ database, lost }: Pick<Stage, "database" | "lost">): Promise<void> {
  // Whoever has slept for long may find that its connection's time is up: then it looks again.
  const isOpen = (): Promise<boolean> =>
    openWork(database).then(
      (found) => found > 0,
      () => true,
    );
  while (lost() === 0 && (await isOpen())) await pause();
}

export function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 15));
}
