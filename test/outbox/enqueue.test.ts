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

  it("[O-02] a subject's id has up to 255 characters", async () => {
    const { enqueue, row } = await shop(database);
    const [entryId] = await enqueue(erase("x".repeat(255)));
    expect(await row(entryId as string)).toMatchObject({ subject_id: "x".repeat(255) });
  });

  it.each([
    ["no subject", { ...erase("u"), subjectId: "" }, "BAD_ID", "subjectId"],
    ["a long subject", erase("x".repeat(256)), "BAD_ID", "subjectId"],
    ["a NUL", erase("a\0b"), "BAD_ID", "subjectId"],
    ["no resolver", erase("u", ""), "BAD_DEFINITION", "resolver"],
    ["a long ref", erase("u", "stripe", "x".repeat(1_025)), "BAD_ID", "ref.value"],
    ["an empty ref", erase("u", "stripe", ""), "BAD_ID", "ref.value"],
    ["no ref", { subjectId: "u", resolver: "stripe" } as never, "BAD_OPTION", "ref"],
    ["an unknown operation", { ...erase("u"), operation: "forget" as never }, "BAD_INPUT", "operation"],
    ["an unknown field", { ...erase("u"), subject: "u" } as never, "BAD_OPTION", "subject"],
    ["an id that is none", { ...erase("u"), entryId: "seven" }, "BAD_ID", "entryId"],
    [
      "corrections of an erasure",
      { ...rectify("u"), operation: "erase" as const },
      "BAD_INPUT",
      "corrections",
    ],
    ["a rectification of nothing", { ...rectify("u"), corrections: [] }, "BAD_INPUT", "corrections"],
    [
      "a category twice",
      {
        ...rectify("u"),
        corrections: [
          { category: "email", value: "a" },
          { category: "email", value: "b" },
        ],
      },
      "BAD_INPUT",
      "twice",
    ],
    [
      "a value that is no scalar",
      { ...rectify("u"), corrections: [{ category: "email", value: {} as never }] },
      "BAD_INPUT",
      "email",
    ],
    [
      "extra that is no text",
      { ...erase("u"), ref: { kind: "s", value: "v", extra: { a: 1 } as never } },
      "BAD_INPUT",
      "extra",
    ],
    [
      "a megabyte",
      { ...rectify("u"), corrections: [{ category: "email", value: "x".repeat(1_100_000) }] },
      "BAD_INPUT",
      "corrections",
    ],
  ])("[K-20] %s is refused, and nothing of the list is written", async (_name, entry, code, says) => {
    const { db, outbox, rows } = await shop(database);
    await db.transaction(async (_session, tx) => {
      const refusal = await outbox.enqueue(tx, [erase("fine"), entry]).catch((error: unknown) => error);
      expect(refusal).toMatchObject({ code });
      expect(String(refusal)).toContain(says);
    });
    expect(await rows()).toEqual([]);
  });

  it("[K-20] an entry's id that exists is refused before anything is written, and the transaction can go on", async () => {
    const { db, outbox, enqueue, rows } = await shop(database);
    const entryId = "018f0000-0000-7000-8000-0000000000AB";
    expect(await enqueue({ ...erase("u-1"), entryId })).toEqual([entryId.toLowerCase()]);
    await db.transaction(async (_session, tx) => {
      for (const again of [
        [{ ...erase("u-2"), entryId }],
        [0, 1].map(() => ({ ...erase("u-2"), entryId: entryId.replace("AB", "AC") })),
      ]) {
        await expect(outbox.enqueue(tx, again)).rejects.toMatchObject({ code: "BAD_ID" });
      }
      await outbox.enqueue(tx, [erase("u-3")]);
    });
    expect(new Set((await rows()).map((row) => row["subject_id"]))).toEqual(new Set(["u-1", "u-3"]));
  });

  it("[K-20] no message of a refusal repeats what was handed in", async () => {
    const { db, outbox } = await shop(database);
    const canary = "canary@example.org";
    const wrong = [
      { ...erase(canary.repeat(20)) },
      { ...rectify("u"), corrections: [{ category: "email", value: [canary] as never }] },
      erase("u", "stripe", canary.repeat(100)),
    ];
    await db.transaction(async (_session, tx) => {
      for (const entry of wrong) {
        const refusal = await outbox.enqueue(tx, [entry]).catch((error: unknown) => error as Error);
        expect(JSON.stringify([String(refusal), refusal])).not.toContain("canary");
      }
    });
  });
});
