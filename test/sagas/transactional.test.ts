import { err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { conflict, effect, effects, makeEffects, transactionOn, write } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  const transaction = transactionOn(database.name);
  const logs = database.name === "postgres" ? "amends.saga_logs" : "amends_saga_logs";

  it("[S-27] the act's own writes and its checkpoint become visible together", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const held = gate();
    const order = saga("order", nothing)
      .step("book", {
        transaction,
        act: async ({ tx }) => {
          await effect(tx, "booked");
          await held.pass();
          return "b-1";
        },
      })
      .step("after", {
        act: async ({ results, sagaId }) => [
          results.book,
          await effects(look.db),
          (await look.history(sagaId)).includes("book act COMPLETED"),
        ],
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    expect(await effects(look.db)).toEqual([]);
    expect(await look.history(run.id)).toEqual(["book act STARTED"]);
    held.open();
    expect(await run.result()).toMatchObject({
      status: "COMPLETED",
      results: { book: "b-1", after: ["b-1", ["booked"], true] },
    });
  });

  it("[S-27] an err rolls the act's own writes back, and the saga turns back", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const undone: string[] = [];
    const order = saga("order", nothing)
      .step("one", { act: () => 1, compensate: () => void undone.push("one") })
      .step("book", {
        transaction,
        act: async ({ tx }) => {
          await effect(tx, "booked");
          return err("full");
        },
        compensate: () => void undone.push("book"),
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({
      status: "FAILED",
      step: "book",
      error: { value: "full" },
    });
    expect(await effects(look.db)).toEqual([]);
    expect(undone).toEqual(["one"]);
  });

  it("[S-27] a throw rolls the act's own writes back, and a later try writes them once", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const order = saga("order", nothing, { retry: { base: "1ms" } }).step("book", {
      transaction,
      act: async ({ tx, attempt }) => {
        await effect(tx, `try ${attempt}`);
        if (attempt < 3) throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(await effects(look.db)).toEqual(["try 3"]);
  });

  it("[K-12][S-27] a conflict in the act's own statement is the database's: no try of the step is recorded as failed", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    await makeEffects(db);
    // PostgreSQL asks for a repeat, however often; SQLite's lock is waited for as long as any other trouble.
    const conflicts = database.name === "postgres" ? 10 : 5;
    let calls = 0;
    const order = saga("order", nothing).step("book", {
      transaction,
      retry: { attempts: 1 },
      act: async ({ tx, attempt }) => {
        calls++;
        await effect(tx, `call ${calls}, attempt ${attempt}`);
        if (calls <= conflicts) await conflict(database.name, tx, calls % 2 ? "40001" : "40P01");
      },
    });
    const amends = await database.amends({ sagas: [order], database: db });
    const run = await amends.start(order, {});
    const working = amends.worker().runOnce();
    await vi.waitFor(
      async () => {
        await clock.advance(500);
        expect(await run.status()).toBe("COMPLETED");
      },
      { timeout: 20_000, interval: 1 },
    );
    await working;
    expect(await effects(db)).toEqual([`call ${conflicts + 1}, attempt 1`]);
    const view = await amends.inspect(run.id);
    expect(view?.timeline.filter(({ status }) => status === "FAILED")).toEqual([]);
  });

  it("[S-27] a transactional step that did not commit did not happen: it is never in doubt, and never undone", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const undone: string[] = [];
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async ({ tx }) => {
        await effect(tx, "booked");
        throw new Terminal("refused");
      },
      compensate: () => void undone.push("book"),
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({
      status: "FAILED",
      error: { kind: "terminal", label: "refused" },
    });
    expect(await effects(look.db)).toEqual([]);
    expect(undone).toEqual([]);
  });

  it("[S-27] where the checkpoint is refused the act's own writes go with it, so they happen exactly once", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    let calls = 0;
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async ({ tx, sagaId }) => {
        calls += 1;
        await effect(tx, `call ${calls}`);
        // The line that the checkpoint wants is taken, once, by somebody else.
        if (calls === 1) {
          await write(
            tx,
            `insert into ${logs} (saga_id, id, token, step_name, action, status, details, created_at)
             select saga_id, id + 1, -1, '$note', 'act', 'COMPLETED', '{}', created_at from ${logs}
             where saga_id = '${sagaId}' order by id desc limit 1`,
          );
        }
      },
    });
    const amends = await database.amends({ sagas: [order] });
    const run = await amends.start(order, {});
    await amends.worker().runOnce();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(calls).toBe(2);
    expect(await effects(look.db)).toEqual(["call 2"]);
  });

  it("[S-27] an undo can be transactional too", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const order = saga("order", nothing, { compensateRetry: { base: "1ms" } })
      .step("book", {
        transaction,
        act: ({ tx }) => effect(tx, "booked"),
        compensate: async ({ tx, attempt }) => {
          await write(tx, "delete from effects");
          await effect(tx, `undone by try ${attempt}`);
          if (attempt === 1) throw new Error("busy");
        },
      })
      .step("two", { act: () => err("no") });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "FAILED", step: "two" });
    expect(await effects(look.db)).toEqual(["undone by try 2"]);
  });

  it("[S-27] a saga that the act starts with its transaction exists exactly if the step is done", async () => {
    const child = saga("child", nothing).step("one", { act: () => 1 });
    const order = saga("order", nothing, { retry: { base: "1ms" } }).step("book", {
      transaction,
      act: async ({ tx, attempt, sagaId }) => {
        await amends.start(child, {}, { id: `${sagaId}-child-${attempt}`, tx });
        if (attempt === 1) throw new Error("busy");
      },
    });
    const amends = await database.amends({ sagas: [order, child] });
    await database.worker(amends);
    await (await amends.start(order, {}, { id: "o-1" })).result();
    expect(await amends.inspect("o-1-child-1")).toBeUndefined();
    expect(await amends.inspect("o-1-child-2")).toBeDefined();
  });

  it("[S-27] starting a saga inside such a step without its transaction is refused, and says what to do", async () => {
    const child = saga("child", nothing).step("one", { act: () => 1 });
    const refusals: unknown[] = [];
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async () => {
        await amends.start(child, {}, { id: "c-1" }).catch((error: unknown) => refusals.push(error));
        await amends.inspect("c-1").catch((error: unknown) => refusals.push(error));
      },
    });
    const amends = await database.amends({ sagas: [order, child] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
    const refusal = {
      code: "NEEDS_TRANSACTION",
      message: expect.stringContaining("Pass it on with `{ tx }`") as unknown,
    };
    expect(refusals).toMatchObject([refusal, refusal]);
    expect(await amends.inspect("c-1")).toBeUndefined();
    // Once the step is over its code is inside no transaction any more.
    expect((await amends.start(child, {}, { id: "c-1" })).created).toBe(true);
  });

  it("[S-27] such a refusal is the caller's alone: sagas that write at the same time are not hurt", async () => {
    const child = saga("child", nothing).step("one", { act: () => 1 });
    const held = gate();
    let refused: unknown;
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async () => {
        await held.pass();
        await amends.start(child, {}).catch((error: unknown) => (refused = error));
      },
    });
    const busy = saga("busy", z.object({ n: z.number() }))
      .step("one", { act: () => new Promise((resolve) => setImmediate(resolve)) })
      .step("two", { act: ({ input }) => input.n });
    const amends = await database.amends({ sagas: [order, child, busy] });
    await database.worker(amends);
    const run = await amends.start(order, {});
    await held.reached;
    const others = Promise.all(
      Array.from({ length: 20 }, async (_, n) => (await amends.start(busy, { n })).result()),
    );
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
    expect(refused).toMatchObject({ code: "NEEDS_TRANSACTION" });
    expect((await others).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => "COMPLETED"));
    expect(amends.counters).toMatchObject({ lost: 0, completed: 21 });
  });

  it("[S-27] a transaction of another database than the sagas' own is refused when the saga is registered", async () => {
    const other = transactionOn(database.name === "postgres" ? "sqlite" : "postgres");
    const order = saga("order", nothing).step("book", { transaction: other, act: () => 1 });
    await expect(database.amends({ sagas: [order] })).rejects.toMatchObject({
      code: "BAD_DEFINITION",
      message: /step book: it wants a transaction of/,
    });
  });
});

onDatabase("postgres", (database) => {
  const transaction = transactionOn("postgres");

  it("[S-27] a worker that lost its saga inside the transaction leaves nothing behind", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const held = gate();
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async ({ tx, attempt }) => {
        await effect(tx, `try ${attempt}`);
        if (attempt === 1) await held.pass();
      },
    });
    const { first, second, lapse } = await pair(database, { sagas: [order] });
    const run = await first.start(order, {});
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    expect(await second.worker().runOnce()).toBe(1);
    held.open();
    await lost;
    expect(first.counters.lost).toBe(1);
    expect(await (await second.get(run.id)).status()).toBe("COMPLETED");
    expect(await effects(look.db)).toEqual(["try 2"]);
  });

  it("[S-27][S-23] a cancel during the act rolls it back, and the act is not called again", async () => {
    const look = await onlooker(database);
    await makeEffects(look.db);
    const held = gate();
    let calls = 0;
    const order = saga("order", nothing).step("book", {
      transaction,
      act: async ({ tx }) => {
        calls += 1;
        await effect(tx, "booked");
        await held.pass();
      },
      compensate: ({ tx }) => write(tx, "delete from effects"),
    });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, {});
    const running = amends.worker().runOnce();
    await held.reached;
    await amends.cancel(run.id, { reason: "customer called" });
    held.open();
    await running;
    await vi.waitFor(async () => expect(await run.status()).toBe("FAILED"));
    expect(calls).toBe(1);
    expect(await effects(look.db)).toEqual([]);
    expect(await look.history(run.id)).toEqual(["book act STARTED"]);
  });
});
