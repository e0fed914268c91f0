/** A process with sagas that stall, on virtual time, and what is on record about them. */
import { err, saga, type Amends, type SagaDefinition } from "amends";
import type { BulkView } from "amends/bulk";
import { virtualClock, type VirtualClock } from "amends/testing";
import { z } from "zod";
import { listActions } from "../../../src/audit/action-queries.ts";
import { toAction } from "../../../src/audit/rows.ts";
import type { RecordedAction } from "../../../src/core/action.ts";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import type { AmendsOptions, TestDatabase } from "../../support/databases.ts";

export const NOTE = { reason: "the bank is back", by: "ann" };

const schema = z.object({ end: z.enum(["stalls", "waits", "completes"]).default("stalls") });

export interface World {
  /** While it is down, no undo succeeds: a saga that turns back stalls. */
  isDown: boolean;
  /** The ids of sagas whose undo succeeded. */
  readonly undone: string[];
}

export type Order = SagaDefinition<z.input<typeof schema>, z.output<typeof schema>>;

export function ordering(world: World): Order {
  return saga("order", schema, { compensateRetry: { attempts: 1 }, attributes: ["tenant"] })
    .step("reserve", {
      act: () => "r-1",
      compensate: ({ sagaId }) => {
        if (world.isDown) throw new RangeError("down");
        world.undone.push(sagaId);
      },
    })
    .step("charge", { act: ({ input }) => (input.end === "stalls" ? err("declined") : "c-1") })
    .sleep("cool-off", "10h");
}

export interface Scene {
  readonly clock: VirtualClock;
  readonly db: Database;
  readonly amends: Amends;
  readonly world: World;
  readonly order: Order;
  /** Starts these sagas, and runs what is due: those that stall are stalled then. */
  add(ids: readonly string[], options?: object): Promise<void>;
  /** Runs what is due, until nothing is. */
  work(): Promise<void>;
  /** Starts a bulk action on stalled sagas, and carries it out. */
  retryAll(): Promise<BulkView>;
  recorded(target?: string): Promise<readonly RecordedAction[]>;
  /** The lines of operators in the logs: how often each saga has one. */
  lines(name: string): Promise<Readonly<Record<string, number>>>;
}

export async function scene(database: TestDatabase, options: AmendsOptions = {}): Promise<Scene> {
  const clock = options.clock ?? virtualClock();
  const db = options.database ?? (await database.open({ clock }));
  const world: World = { isDown: true, undone: [] };
  const order = ordering(world);
  const amends = await database.amends({ sagas: [order], ...options, database: db });
  const work = async (): Promise<void> => {
    for (;;) {
      clock.jump(10);
      if ((await amends.worker().runOnce()) === 0) return;
    }
  };
  return {
    clock,
    db,
    amends,
    world,
    order,
    work,
    async add(ids, starting = {}) {
      await amends.startMany(
        order,
        ids.map((id) => ({ id, input: {}, ...starting })),
      );
      await work();
    },
    async retryAll() {
      const { id } = await amends.bulk.start({ action: "retry", status: "STALLED", ...NOTE });
      await work();
      return amends.bulk.get(id);
    },
    async recorded(target) {
      return (await db.query(listActions(db.dialect, { limit: 1_000, target }))).map(toAction);
    },
    async lines(name) {
      const rows = await db.query(
        sql`select saga_id, count(*) as lines from ${db.dialect.table("saga_logs")} where step_name = ${name} group by saga_id`,
      );
      return Object.fromEntries(rows.map((row) => [row["saga_id"] as string, Number(row["lines"])]));
    },
  };
}

export function numberedIds(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(3, "0")}`);
}
