import { expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { erase, rectify, shop } from "./support/shop.ts";

onEachDatabase((database) => {
  it("[O-01] entries commit and roll back with the caller's transaction", async () => {
    const { db, outbox, rows } = await shop(database);
    await expect(
      db.transaction(async (_session, tx) => {
        await outbox.enqueue(tx, [erase("u-1")]);
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await rows()).toEqual([]);
    const [id] = await db.transaction((_session, tx) => outbox.enqueue(tx, [erase("u-1")]));
    expect((await rows()).map((row) => row["entry_id"])).toEqual([id]);
  });

  it("[O-01] an empty list is a no-op", async () => {
    const { db, outbox, rows } = await shop(database);
    expect(await db.transaction((_session, tx) => outbox.enqueue(tx, []))).toEqual([]);
    expect(await rows()).toEqual([]);
  });

  it("[O-02] an entry comes back as it was handed in, with what the outbox adds", async () => {
    const { outbox, enqueue } = await shop(database);
    const entry = rectify("u-1");
    const [entryId] = await enqueue({
      ...entry,
      ref: { ...entry.ref, extra: { account: "a" } },
      generation: 2,
    });
    const [claimed] = await outbox.claimBatch();
    expect(claimed).toMatchObject({
      entryId,
      subjectId: "u-1",
      resolver: "stripe",
      ref: { kind: "stripe", value: "cus_1", extra: { account: "a" } },
      operation: "rectify",
      corrections: [{ category: "email", value: "new@example.org" }],
      status: "in_flight",
      attempts: 1,
      generation: 2,
      lastError: undefined,
    });
    expect(claimed?.enqueuedAt).toBeInstanceOf(Date);
    expect(claimed?.lastAttemptAt).toBeInstanceOf(Date);
    expect(await outbox.markSucceeded(claimed as never)).toBe(true);
    expect(await outbox.statusCounts()).toMatchObject({ succeeded: 1, pending: 0 });
  });
});
