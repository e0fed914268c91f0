import { Amends, ok, saga, signal, type AmendsError } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, handler } from "amends/events";
import { sqlite } from "amends/sqlite";
import { MemorySagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { z } from "zod";
import { recorded } from "../conformance/recorded-database.ts";
import { onEachDatabase } from "../support/databases.ts";

const nothing = z.object({});
const Paid = event("Paid", z.object({ order: z.string() }));
const Noted = event("Noted", z.object({ order: z.string() }));
const NotNoted = event("NotNoted", z.object({ order: z.string() }));
const note = handler("note", {
  on: Paid,
  ok: Noted,
  err: NotNoted,
  handle: ({ order }) => ok(Noted({ order })),
});
const map = dataMap({ users: { subject: "id" } });
const PARTS = ["events", "calls", "webhooks", "erasure", "retention"] as const;

function refusal(work: () => unknown): Partial<AmendsError> {
  try {
    work();
    return {};
  } catch (error) {
    return error as AmendsError;
  }
}

onEachDatabase((database) => {
  it("[P-01] a part that was not asked for is not built, and using it says which option to pass", async () => {
    const amends = await database.amends({});
    const advice: Readonly<Record<(typeof PARTS)[number], string>> = {
      events: "Events are not configured. Pass `events: []` to `new Amends`.",
      calls: "Calls are not configured. Pass `calls: []` to `new Amends`.",
      webhooks: "Webhooks are not configured. Pass `webhooks: {}` to `new Amends`.",
      erasure: "Erasure is not configured. Pass `erasure: { dataMap }` to `new Amends`.",
      retention: 'Retention is not configured. Pass `retention: { sagas: "90d" }` to `new Amends`.',
    };
    for (const part of PARTS) {
      expect(refusal(() => amends[part])).toMatchObject({
        code: "NOT_CONFIGURED",
        message: advice[part],
        details: { part },
      });
    }
  });

  it("[P-01] a worker asks the database for the parts that are configured, and for no others", async () => {
    const tablesOf = async (options: object): Promise<readonly string[]> => {
      const { database: db, statements } = recorded(await database.open());
      const amends = await database.amends({ database: db, ...options });
      await amends.worker().runOnce();
      const text = statements()
        .map((statement) => statement.sql)
        .join("\n");
      const names = ["outbox", "saga_state", "webhook_jobs", "erasure_subjects", "saga_executions"];
      return names.filter((name) => new RegExp(`\\b(?:amends_)?${name}\\b`).test(text));
    };
    const order = saga("order", nothing).step("one", { act: () => 1 });
    const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
    // Every worker looks once whether sagas are open that it does not know.
    expect(await tablesOf({})).toEqual(["saga_executions"]);
    expect(await tablesOf({ sagas: [order], events: [], calls: [] })).toEqual(["saga_executions"]);
    expect(await tablesOf({ calls: [mail] })).toEqual(["outbox", "saga_executions"]);
    expect(await tablesOf({ events: [note] })).toEqual(["outbox", "saga_state", "saga_executions"]);
    expect(await tablesOf({ webhooks: {} })).toContain("webhook_jobs");
  });

  it("[P-01] a saga that waits for an event has it delivered, without handlers and without an option", async () => {
    const order = saga("order", z.object({ order: z.string() })).waitFor("payment", {
      event: Paid,
      where: "order",
      equals: ({ input }) => input.order,
    });
    const given = await database.amends({ sagas: [order] });
    const registered = await database.amends({});
    registered.register(order);
    for (const [index, amends] of [given, registered].entries()) {
      const id = `o-${index}`;
      const run = await amends.start(order, { order: id }, { id });
      await amends.events.publish(Paid({ order: id }));
      const worker = await database.worker(amends, { poll: "50ms" });
      expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { payment: { order: id } } });
      await worker.stop();
    }
  });

  it("[S-30] a saga is registered before a worker starts; the same plan again is the same saga, another plan is refused", async () => {
    const define = (label: string) => saga("order", nothing).step("one", { act: () => label });
    const amends = await database.amends({});
    const first = define("first");
    await expect(amends.start(first, {})).rejects.toMatchObject({ code: "UNKNOWN_SAGA" });
    expect(refusal(() => amends.register({} as never))).toMatchObject({ code: "BAD_DEFINITION" });
    amends.register(first);
    // The same definition, loaded again: as a hot reload does, or a second bundle in one process.
    const second = define("second");
    const run = await amends.start(second, {}, { id: "o-1" });
    amends.register(second);
    await database.worker(amends, { poll: "50ms" });
    expect(await run.result()).toMatchObject({ results: { one: "second" } });
    amends.register(define("third"));
    expect(await (await amends.start(first, {}, { id: "o-2" })).result()).toMatchObject({
      status: "COMPLETED",
    });
    const other = saga("order", nothing).step("one", { act: () => 1, compensate: () => 2 });
    expect(refusal(() => amends.register(other))).toMatchObject({
      code: "BAD_DEFINITION",
      message:
        "Saga order is registered twice with version 1 and different steps: one, and one~. Give one of them another version.",
    });
    await expect(amends.start(other, {})).rejects.toMatchObject({
      code: "UNKNOWN_SAGA",
      message: expect.stringContaining(
        "is registered in this process with other steps: one, not one~",
      ) as string,
    });
    const late = saga("late", nothing).step("one", { act: () => 1 });
    expect(refusal(() => amends.register(late))).toMatchObject({
      code: "NOT_ALLOWED_NOW",
      message: "Saga late was registered while a worker runs. Register sagas before `worker.start()`.",
    });
  });

  it("[S-18] a handle that is asked for by definition is of that definition, or refused in words", async () => {
    const order = saga("order", nothing).step("one", { act: () => 7 });
    const other = saga("other", nothing).step("one", { act: () => 7 });
    const amends = await database.amends({ sagas: [order, other] });
    await amends.start(order, {}, { id: "o-1" });
    await amends.worker().runOnce();
    const outcome = await (await amends.get(order, "o-1")).result();
    expect(outcome.status === "COMPLETED" && outcome.results.one.toFixed(1)).toBe("7.0");
    expect((await amends.get("o-1")).id).toBe("o-1");
    await expect(amends.get(other, "o-1")).rejects.toMatchObject({
      code: "SAGA_CONFLICT",
      message: "The id belongs to a saga of order, not of other. Ids are unique over all sagas.",
      details: { id: "o-1", name: "order" },
    });
    await expect(amends.get(order, "nobody")).rejects.toMatchObject({ code: "SAGA_NOT_FOUND" });
  });

  it("[K-20] what nobody can mean is refused in words", async () => {
    const db = await database.open();
    const order = saga("order", nothing).step("one", { act: () => 1 });
    const go = signal("go", nothing);
    const amends = await database.amends({
      database: db,
      sagas: [order],
      events: [],
      calls: [],
      webhooks: {},
      erasure: { dataMap: map },
    });
    const wrong = { tx: undefined, at: 1 } as never;
    const mail = defineCall("mail", { schema: nothing, handle: () => undefined });
    for (const work of [
      () => amends.start(order, {}, wrong),
      () => amends.signal("x", go, {}, wrong),
      () => amends.events.publish(Paid({ order: "x" }), wrong),
      () => amends.webhooks.publish({ type: "a.b", data: {} }, wrong),
      () => amends.calls.enqueue(mail, {}, wrong),
    ])
      await expect(work()).rejects.toMatchObject({
        code: "BAD_OPTION",
        message: expect.stringContaining("there is no option named at") as string,
      });
    await expect(amends.erasure.eraseSubject("ann", [], {} as never)).rejects.toMatchObject({
      code: "NEEDS_TRANSACTION",
      message: "erasure.eraseSubject writes in your own open transaction: pass it as { tx }.",
    });
    await expect(amends.erasure.eraseSubject("ann", [], { tx: {}, at: 1 } as never)).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
  });
});

it("[K-20] a pool in the place of a database, and a part without one, are refused in words", () => {
  const pool = { query: async () => ({ rows: [] }), connect: async () => undefined, totalCount: 0 };
  expect(refusal(() => new Amends({ database: pool as never }))).toMatchObject({
    code: "BAD_OPTION",
    message: "`database` is a pool or a client of pg. Pass `postgres({ pool })` of amends/postgres instead.",
  });
  expect(refusal(() => new Amends({} as never))).toMatchObject({ code: "BAD_OPTION" });
  expect(refusal(() => new Amends({ database: sqlite(":memory:"), handlers: [] } as never))).toMatchObject({
    message: expect.stringContaining("there is no option named handlers") as string,
  });
  const storage = new MemorySagaStorage();
  expect(refusal(() => new Amends({ storage, webhooks: {} } as never))).toMatchObject({
    code: "NOT_SUPPORTED",
    message: "A custom `storage` holds sagas only: `webhooks` needs a `database`. Pass `database` instead.",
  });
  const amends = new Amends({ storage });
  for (const part of PARTS) expect(refusal(() => amends[part])).toMatchObject({ code: "NOT_SUPPORTED" });
});
