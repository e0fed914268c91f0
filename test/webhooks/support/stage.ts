/** Webhooks under test: an Amends, its tables seen from outside, and a world of receivers that do what the test says. */
import type { Amends, StopOptions, Worker } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../../src/storage/sql.ts";
import type { Sender, SendRequest, SendResult } from "../../../src/webhooks/http/send.ts";
import type { WebhooksOptions } from "../../../src/webhooks/settings.ts";
import { describe } from "vitest";
import { onDatabase, onEachDatabase, type TestDatabase } from "../../support/databases.ts";
import { divided, loginAs, PARTS, type Part } from "./logins.ts";

export interface Sent {
  readonly url: string;
  readonly id: string;
  readonly body: string;
  readonly timestamp: number;
  readonly secrets: readonly string[];
}

export type Answer = (
  request: SendRequest,
  nth: number,
) => Partial<SendResult> | Promise<Partial<SendResult>>;

/** The outside world: every request is written down, and answered as the test wants. */
export class World implements Sender {
  readonly sent: Sent[] = [];
  answer: Answer = () => ({});

  async send(request: SendRequest): Promise<SendResult> {
    const { url, id, body, timestamp, secrets } = request;
    this.sent.push({ url, id, body: Buffer.from(body).toString(), timestamp, secrets });
    const nth = this.sent.filter((one) => one.url === url).length;
    const answer = await this.answer(request, nth);
    return { ok: true, code: "http_200", status: 200, durationMs: 1, ...answer };
  }

  checkUrl(): void {}

  async close(): Promise<void> {}

  /** How often each URL was called. */
  get calls(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { url } of this.sent) counts[url] = (counts[url] ?? 0) + 1;
    return counts;
  }
}

export const failed = (code: string = "http_503"): Partial<SendResult> => ({ ok: false, code, status: 503 });

/** One login for everything, or a login for each part, in a process of its own. */
export type Form = "one login" | "a login for each part";

/** A test's database, with the form in which webhooks are delivered there. */
export interface FormedDatabase extends TestDatabase {
  readonly form?: Form;
}

/** The same tests on each database, and on PostgreSQL with a login for each part as well. */
export function onEachForm(tests: (database: FormedDatabase) => void): void {
  onEachDatabase(tests);
  onDatabase("postgres", (database) => {
    const form = "a login for each part";
    describe(form, () => {
      tests({ ...database, form });
    });
  });
}

/** All the workers that delivery takes in this form. */
export interface StageWorker {
  start(): Promise<void>;
  stop(options?: StopOptions): Promise<void>;
  runOnce(): Promise<number>;
}

export interface Stage {
  readonly amends: Amends;
  readonly db: Database;
  readonly clock: VirtualClock;
  readonly world: World;
  /** The connection of the process that publishes. */
  readonly publisherDb: Database;
  /** Results are applied by another process than the one that sends. */
  readonly isSplit: boolean;
  publish(type?: string, more?: object): Promise<string>;
  subscribe(name: string, more?: object): Promise<string>;
  worker(): StageWorker;
  /** Works until nothing is due. Returns how many results that led to. */
  work(): Promise<number>;
  /** Lets time pass, and works. */
  later(ms: number): Promise<number>;
  /** Every row of a table, in the order of its ids. */
  rows(table: string): Promise<readonly Row[]>;
  /** `status attempt_count` of every delivery. */
  states(): Promise<readonly string[]>;
  query(statement: Sql): Promise<readonly Row[]>;
}

export const NOTE = { reason: "the test wants it" };

/** Who delivers in this form, who publishes, and what operators call. */
interface Cast {
  readonly amends: Amends;
  readonly publisher: { readonly amends: Amends; readonly db: Database };
  worker(): StageWorker;
}

export async function stage(
  database: FormedDatabase,
  options: WebhooksOptions = {},
  clock: VirtualClock = virtualClock(),
): Promise<Stage> {
  const world = (options.sender as World | undefined) ?? new World();
  const isSplit = database.form === "a login for each part";
  if (isSplit) await database.granted();
  const db = await database.open({ clock });
  const webhooks = { spread: 0, ...options, sender: world };
  const { amends, publisher, worker } = isSplit
    ? await castOfMany(database, db, webhooks, clock)
    : await castOfOne(database, db, webhooks);
  const driver = worker();
  const count = async (): Promise<number> => {
    const [row] = await db.query(sql`select count(*) as n from ${db.dialect.table("webhook_attempts")}`);
    return Number(row?.["n"]);
  };
  const work = async (): Promise<number> => {
    const before = await count();
    while ((await driver.runOnce()) > 0);
    return (await count()) - before;
  };
  const rows = (table: string): Promise<readonly Row[]> =>
    db.query(sql`select * from ${db.dialect.table(table)} order by ${raw("id")}`);
  return {
    amends,
    db,
    clock,
    world,
    isSplit,
    publisherDb: publisher.db,
    worker,
    work,
    rows,
    query: (statement) => db.query(statement),
    publish: (type = "order.placed", more = {}) =>
      publisher.db.transaction(async (_, tx) => {
        const event = { type, data: { n: 1 }, ...more };
        return (await publisher.amends.webhooks.publish(event, { tx })).id;
      }),
    subscribe: async (name, more = {}) =>
      (await amends.webhooks.subscribe({ url: `https://${name}.example/hook`, events: ["*"], ...more })).id,
    later: async (ms) => {
      clock.jump(ms);
      return work();
    },
    states: async () =>
      (await rows("webhook_delivery_sagas")).map(
        (row) => `${String(row["status"])} ${Number(row["attempt_count"])}`,
      ),
  };
}

async function castOfOne(database: FormedDatabase, db: Database, webhooks: WebhooksOptions): Promise<Cast> {
  const amends = await database.amends({ database: db, webhooks });
  return { amends, publisher: { amends, db }, worker: () => amends.worker() };
}

async function castOfMany(
  database: FormedDatabase,
  db: Database,
  webhooks: WebhooksOptions,
  clock: VirtualClock,
): Promise<Cast> {
  const owner = await database.amends({ database: db, webhooks });
  const logins = new Map<Part, { readonly amends: Amends; readonly db: Database }>();
  for (const part of PARTS.filter((one) => one !== "delivery")) {
    const own = await loginAs(database, [part], clock);
    logins.set(part, { db: own, amends: await database.amends({ database: own, webhooks }) });
  }
  const of = (part: Part): { readonly amends: Amends; readonly db: Database } =>
    logins.get(part) as { readonly amends: Amends; readonly db: Database };
  return {
    amends: divided(owner, (part) => of(part).amends),
    publisher: of("publisher"),
    worker: () => {
      const [orchestrator, sender, administrator] = (
        ["orchestrator", "sender", "administrator"] as const
      ).map((part) => of(part).amends.worker({ only: [`webhooks:${part}`] })) as [Worker, Worker, Worker];
      const workers = [orchestrator, sender, administrator];
      return {
        start: async () => {
          for (const one of workers) await one.start();
        },
        stop: async (how) => {
          await Promise.all(workers.map((one) => one.stop(how)));
        },
        runOnce: async () => {
          let total = 0;
          // Who decides comes before who sends, and again after it.
          for (const one of [orchestrator, sender, orchestrator, administrator]) total += await one.runOnce();
          return total;
        },
      };
    },
  };
}
