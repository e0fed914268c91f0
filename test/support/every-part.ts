/**
 * One pass over everything that Amends does: sagas that group, sleep, wait, emit, commit with the application and stall;
 * events, calls, webhooks, dead letters, erasure, operators, console and retention. Four processes do it, each with a database
 * of its own making, so that each may have a login of its own.
 */
import { Amends, saga, signal, type Logger } from "amends";
import type { BulkItems } from "amends/bulk";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event, eventSaga, handler, ok, step } from "amends/events";
import { transaction } from "amends/postgres";
import pg from "pg";
import { expect } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import type { AttentionLine } from "../../src/console/contract.ts";
import type { RetentionOptions } from "../../src/operate/retention/retention.ts";
import { visit } from "../console/support/visit.ts";
import { failed, World } from "../webhooks/support/stage.ts";
import { until } from "./until.ts";

/** The four processes of an application. */
export const PROCESSES = ["app", "worker", "console", "retention"] as const;

export type Process = (typeof PROCESSES)[number];

export interface EveryPartOptions {
  /** The database as this process opens it. */
  readonly open: (process: Process) => Database<pg.ClientBase>;
  /** Where the application's own client connects. */
  readonly url: string;
}

/** The application's own tables. A login needs rights on them that Amends does not grant. */
export const OWN_TABLES: readonly string[] = [
  "create table customers (id text primary key, email text)",
  "create table orders (id text primary key, customer_id text references customers (id), state text not null)",
];

const order = z.object({ orderId: z.string() });
const Paid = event("Paid", order);
const Shipped = event("Shipped", order);
const Reserved = event("Reserved", order);
const NotReserved = event("NotReserved", order);
const Confirmed = event("Confirmed", order);
const Rejected = event("Rejected", order);
const told = signal("told", z.object({}));

const fulfil = saga("fulfil", order)
  .step("first", { act: ({ emit, input }) => emit(Shipped(input)) })
  .parallel("both", (group) => group.step("left", { act: () => 1 }).step("right", { act: () => 2 }))
  .sleep("nap", "10ms")
  .step("book", {
    transaction,
    act: async ({ tx, input }) => {
      await tx.query("update orders set state = 'booked' where id = $1", [input.orderId]);
    },
  })
  .waitFor("word", { signal: told })
  .waitFor("payment", { event: Paid, where: "orderId", equals: ({ input }) => input.orderId })
  .step("last", { act: () => 3 });

const brief = saga("brief", order).step("only", { act: () => 1 });

const no = (): never => {
  throw new TypeError("no");
};

const stuck = saga("stuck", order)
  .step("one", { act: () => 1, compensate: no, compensateRetry: { attempts: 1 } })
  .step("two", { act: no, retry: { attempts: 1 } });

const reserve = handler("reserve", {
  on: Shipped,
  ok: Reserved,
  err: NotReserved,
  handle: ({ orderId }) => ok(Reserved({ orderId })),
});

const shipping = eventSaga("shipping", {
  trigger: Shipped,
  correlate: "orderId",
  steps: [step("reserve", reserve)],
  onCompleted: (orderId) => Confirmed({ orderId }),
  onFailed: (orderId) => Rejected({ orderId }),
});

const RETENTION: RetentionOptions = {
  sagas: { completed: "1ms", failed: "1ms", archive: true },
  flows: "1ms",
  outbox: "1ms",
  webhooks: "1ms",
  bulk: "1ms",
};

/** Trouble that a process logged: there must be none but of the saga and the delivery that fail. */
interface Heard {
  readonly trouble: string[];
  readonly logger: Logger;
}

function listening(): Heard {
  const trouble: string[] = [];
  const note: Logger["error"] = (fields, message) => {
    if (!/has stalled|dead letters|a try failed/.test(message))
      trouble.push(`${message} ${JSON.stringify(fields)}`);
  };
  return { trouble, logger: { info: () => undefined, warn: note, error: note } };
}

export async function runEveryPart(options: EveryPartOptions): Promise<void> {
  const opened: Amends<pg.ClientBase>[] = [];
  try {
    await walk(options, opened);
  } finally {
    for (const amends of opened) await amends.close({ deadline: "0s" });
  }
}

async function walk({ open, url }: EveryPartOptions, opened: Amends<pg.ClientBase>[]): Promise<void> {
  const mails: string[] = [];
  const erased: string[] = [];
  const mail = defineCall("mail", { schema: order, handle: ({ orderId }) => void mails.push(orderId) });
  const world = new World();
  world.answer = ({ url: receiver }) => (receiver.endsWith("/broken") ? failed("http_400") : {});
  const { trouble, logger } = listening();
  const amendsOf = (process: Process): Amends<pg.ClientBase> => {
    const amends = new Amends({
      database: open(process),
      sagas: [fulfil, stuck, brief],
      events: [shipping],
      calls: [mail],
      webhooks: { sender: world, retry: { attempts: 1 } },
      erasure: {
        dataMap: dataMap({
          customers: { subject: "id", columns: { email: { category: "email", strategy: "anonymize" } } },
        }),
        resolvers: [{ name: "crm", eraseSubject: async ({ value }) => (erased.push(value), {}) }],
      },
      ...(process === "retention" && { retention: RETENTION }),
      logger,
    });
    opened.push(amends);
    return amends;
  };

  const worker = amendsOf("worker");
  await worker.worker({ poll: "20ms" }).start();
  const app = amendsOf("app");
  const { id: good } = await app.webhooks.subscribe({
    id: "good",
    url: "https://one.test/ok",
    events: ["order.*"],
  });
  await app.webhooks.subscribe({ id: "broken", url: "https://one.test/broken", events: ["order.*"] });

  const client = new pg.Client(url);
  await client.connect();
  await client.query("begin");
  await client.query("insert into customers values ('c-1', 'ann@example.org')");
  await client.query("insert into orders values ('o-1', 'c-1', 'new')");
  await app.start(fulfil, { orderId: "o-1" }, { id: "o-1", tx: client });
  await app.calls.enqueue(mail, { orderId: "o-1" }, { tx: client });
  await app.webhooks.publish({ type: "order.placed", data: { orderId: "o-1" } }, { tx: client });
  const yearly = { cron: "0 0 1 1 *", saga: brief, input: { orderId: "o-1" } };
  await app.schedules.put("yearly", yearly, { tx: client });
  await app.schedules.put("other", yearly, { tx: client });
  await app.schedules.remove("other", { reason: "a test", tx: client });
  await client.query("commit");
  await app.signal("o-1", told, {});
  await app.events.publish(Paid({ orderId: "o-1" }));
  const run = await app.start(fulfil, { orderId: "o-1" }, { id: "o-1" });
  expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  const { rows } = await client.query("select state from orders");
  expect(rows).toEqual([{ state: "booked" }]);
  await until(() => mails.length === 1 && world.sent.length === 2);

  const { sagaId } = await app.schedules.run("yearly", { reason: "a test" });
  await until(async () => (await app.inspect(sagaId))?.status === "COMPLETED");

  await client.query("begin");
  await app.erasure.eraseSubject("c-1", [{ kind: "crm", value: "crm-7" }], { tx: client });
  await client.query("commit");
  await client.end();
  await until(() => erased.length === 1);
  await until(async () => (await app.erasure.trail("c-1")).some(({ type }) => type === "ERASURE_COMPLETED"));

  const failing = await app.start(stuck, { orderId: "o-2" }, { id: "o-2" });
  await until(async () => (await failing.status()) === "STALLED");
  const pages = visit(amendsOf("console"));
  const attention = async (): Promise<readonly AttentionLine[]> =>
    (await pages.get<{ items: readonly AttentionLine[] }>("reader", "/api/attention")).items;
  await until(async () => (await attention()).length === 2);
  for (const path of READ) expect([path, (await pages.as("reader", path)).status]).toEqual([path, 200]);
  for (const items of BULK) {
    await pages.post("operator", "/api/bulk/preview", items);
    const { id } = await app.bulk.start({ ...items, reason: "a test" });
    await until(async () => (await app.bulk.get(id)).endedAt !== undefined);
  }
  await pages.post("operator", "/api/bulk", { action: "cancel", ids: ["none"], reason: "a test", id: "b" });
  await pages.post("operator", "/api/bulk/b/stop", { reason: "a test" });
  await until(async () => (await failing.status()) === "STALLED" && (await attention()).length === 2);
  await pages.post("operator", "/api/sagas/o-2/retry", { reason: "once more" });
  await until(async () => (await failing.status()) === "STALLED");
  await pages.post("operator", "/api/sagas/o-2/resolve", { as: "FAILED", reason: "by hand" });
  const letter = (await attention()).find(({ kind }) => kind === "dead-letter");
  await pages.post("operator", `/api/webhooks/deliveries/${letter?.id}/dismiss`, { reason: "gone" });
  await pages.post("operator", `/api/webhooks/subscriptions/${good}/pause`, { reason: "moving" });
  for (const action of ["pause", "resume", "run", "remove"])
    await pages.post("operator", `/api/schedules/yearly/${action}`, { reason: "a test" });
  await until(async () => (await attention()).length === 0);
  await app.webhooks.unsubscribe(good);

  const keeper = amendsOf("retention");
  await until(async () => {
    await keeper.retention.runOnce();
    const isEmpty = (await keeper.bulk.list()).items.length === 0;
    return isEmpty && (await keeper.archived("o-1")) && (await keeper.archived("o-2"));
  });
  expect(trouble).toEqual([]);
}

/** Each of them finds what it acts on, but the erasure: none was abandoned. */
const BULK: readonly BulkItems[] = [
  { action: "retry", saga: "stuck" },
  { action: "resend", status: "DeadLettered" },
  { action: "requeue", kind: "erasure", status: "abandoned" },
];

/** What the console's pages read. */
const READ = [
  "/api/overview",
  "/api/sagas",
  "/api/sagas/o-1",
  "/api/schedules",
  "/api/schedules/yearly",
  "/api/flows",
  "/api/outbox",
  "/api/webhooks/deliveries",
  "/api/webhooks/subscriptions",
  "/api/erasures",
  "/api/audit",
  "/api/bulk",
  "/api/metrics",
  "/api/ready",
];
