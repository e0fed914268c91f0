/** Webhooks under test: an Amends, its tables seen from outside, and a world of receivers that do what the test says. */
import type { Amends } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../../src/storage/sql.ts";
import type { Sender, SendRequest, SendResult } from "../../../src/webhooks/sending/send.ts";
import type { WebhooksOptions } from "../../../src/webhooks/settings.ts";
import type { TestDatabase } from "../../support/databases.ts";

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

export interface Stage {
  readonly amends: Amends;
  readonly db: Database;
  readonly clock: VirtualClock;
  readonly world: World;
  publish(type?: string, more?: object): Promise<string>;
  subscribe(name: string, more?: object): Promise<string>;
  /** Works until nothing is due. Returns how many deliveries were worked on. */
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

export async function stage(
  database: TestDatabase,
  options: WebhooksOptions = {},
  clock: VirtualClock = virtualClock(),
): Promise<Stage> {
  const world = (options.sender as World | undefined) ?? new World();
  const db = await database.open({ clock });
  const amends = await database.amends({ database: db, webhooks: { spread: 0, ...options, sender: world } });
  const worker = amends.worker();
  const work = async (): Promise<number> => {
    let total = 0;
    for (let count = await worker.runOnce(); count > 0; count = await worker.runOnce()) total += count;
    return total;
  };
  const rows = (table: string): Promise<readonly Row[]> =>
    db.query(sql`select * from ${db.dialect.table(table)} order by ${raw("id")}`);
  return {
    amends,
    db,
    clock,
    world,
    work,
    rows,
    query: (statement) => db.query(statement),
    publish: (type = "order.placed", more = {}) =>
      db.transaction(async (_, tx) => {
        const event = { type, data: { n: 1 }, ...more };
        return (await amends.webhooks.publish(event, { tx })).id;
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
