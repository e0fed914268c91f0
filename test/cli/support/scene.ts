/** A system in which something went wrong: what an operator finds at three in the morning. */
import type { Amends } from "amends";
import { DatabaseAuditSink } from "amends/audit";
import { Outbox } from "amends/erasure";
import type { Database } from "../../../src/storage/database.ts";
import { orders } from "../../console/support/shop.ts";
import type { TestDatabase } from "../../support/databases.ts";
import { failed, World } from "../../webhooks/support/stage.ts";

export interface Scene {
  readonly amends: Amends;
  readonly db: Database;
  /** `--database` and where it is. */
  readonly at: readonly string[];
  /** Outbox entries that were given up. */
  readonly abandoned: readonly string[];
  /** The delivery that was given up. */
  readonly dead: string;
}

/** Sagas that completed, failed and stalled, two abandoned entries, a dead letter. */
export async function brokenSystem(database: TestDatabase): Promise<Scene> {
  const db = await database.open();
  const world = new World();
  world.answer = () => failed();
  const order = orders();
  const amends = await database.amends({
    database: db,
    sagas: [order],
    webhooks: { retry: { attempts: 1 }, sender: world },
  });
  for (const end of ["COMPLETED", "FAILED", "STALLED"] as const) {
    const customer = { email: "ada@example.com" };
    await amends.start(order, { orderId: end, end, customer }, { id: `o-${end.toLowerCase()}` });
  }
  await amends.webhooks.subscribe({ url: "https://partner.example/hook?key=secret", events: ["order.*"] });
  const outbox = new Outbox(db, { audit: new DatabaseAuditSink(db) });
  const entries = ["u-1", "u-2"].map((subjectId) => ({
    subjectId,
    resolver: "stripe",
    ref: { kind: "stripe", value: "cus_1" },
  }));
  await db.transaction(async (session, tx) => {
    await outbox.enqueueIn(session, entries);
    await amends.webhooks.publish({ type: "order.placed", data: { email: "ada@example.com" } }, { tx });
  });
  const claimed = await outbox.claimBatch();
  for (const entry of claimed) await outbox.markAbandoned(entry, { error: "NotAuthorised" });
  const worker = amends.worker();
  while ((await amends.webhooks.deadLetters()).length === 0) await worker.runOnce();
  const [letter] = await amends.webhooks.deadLetters();
  return {
    amends,
    db,
    at: ["--database", await database.place()],
    abandoned: claimed.map(({ entryId }) => entryId),
    dead: letter?.deliveryId ?? "",
  };
}
