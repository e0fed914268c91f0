/** A process that delivers webhooks is stopped at every one of its points; another one takes over, and the books hold. */
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { checkBooks } from "../webhooks/support/books.ts";
import { openPlace, type Place } from "./place.ts";
import { Child, compiled } from "./process.ts";
import type { Point } from "./probe.ts";
import { arrivals, drain, receivers, webhooksOn } from "./webhooks-play.ts";
import { chosen, signalsOn } from "./gate.ts";
import { onEachYard, type Yard } from "./yard.ts";

const TABLES = [
  "webhook_events",
  "webhook_subscriptions",
  "webhook_subscription_types",
  "webhook_subscription_filters",
  "webhook_delivery_sagas",
  "webhook_jobs",
  "webhook_attempts",
  "webhook_lanes",
  "dead_letters",
  "ledger",
];
const AT_ONCE = 6;

interface Finding {
  readonly problems: readonly string[];
  readonly points: readonly Point[];
}

async function tryAt(yard: Yard, point?: string, signal?: "SIGKILL" | "SIGSTOP"): Promise<Finding> {
  const place = await yard.place();
  const child = new Child(await compiled(), "webhooks-child.js", { place, point, signal });
  const database = await openPlace(place, 2);
  const amends = webhooksOn(database, receivers(place.effects), 2_000);
  const problems: string[] = [];
  const say = (what: string): void => void problems.push(`${point ?? "undisturbed"}: ${what}`);
  if (signal === "SIGSTOP") {
    await child.stopped;
    await drain(amends);
    const before = await endedRows(database);
    const { code, errors } = await child.wake();
    if (code !== 0) say(`the process woke up and ended with ${code}: ${errors}`);
    const after = await endedRows(database);
    for (const [id, text] of before)
      if (after.get(id) !== text) say(`K-13: delivery ${id} changed after it had ended`);
  } else {
    const ended = await child.ended;
    if (signal && ended.signal !== signal) say(`the process was to be killed and was not: ${ended.errors}`);
    if (!signal && ended.code !== 0) say(`the process ended with ${ended.code}: ${ended.errors}`);
  }
  await drain(amends);
  for (const problem of await check(database, place)) say(problem);
  await amends.close();
  yard.giveBack(place);
  const [report] = child.reports;
  if (report?.kind === "threw") say(report.text);
  return { problems, points: report?.kind === "finished" ? report.points : [] };
}

async function endedRows(db: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query(
    sql`select * from ${db.dialect.table("webhook_delivery_sagas")} where status in ('Completed', 'DeadLettered')`,
  );
  return new Map(rows.map((row) => [String(row["id"]), JSON.stringify(row)]));
}

async function check(db: Database, place: Place): Promise<readonly string[]> {
  const wrong = [...(await checkBooks(db))];
  const { dialect } = db;
  const rows = await db.query(sql`select s.id, s.status, s.generation, e.event_key, p.url,
      (select sum(j.attempts) from ${dialect.table("webhook_jobs")} as j where j.saga_id = s.id) as leases
    from ${dialect.table("webhook_delivery_sagas")} as s
    join ${dialect.table("webhook_events")} as e on e.id = s.event_id
    join ${dialect.table("webhook_subscriptions")} as p on p.id = s.subscription_id`);
  const arrived = arrivals(place.effects);
  const events = new Set(rows.map((row) => row["event_key"]));
  if (rows.filter((row) => Number(row["generation"]) === 0).length !== events.size * 3)
    wrong.push("W-15: an event exists without what it owes");
  for (const row of rows) {
    const sent = arrived.filter(({ url, id }) => url === row["url"] && id === row["event_key"]);
    const isHopeless = String(row["url"]).includes("hopeless");
    if (row["status"] !== (isHopeless ? "DeadLettered" : "Completed"))
      wrong.push(`W-08: delivery ${String(row["id"])} ended ${String(row["status"])}`);
    if (row["status"] === "Completed" && !sent.some(({ ok }) => ok))
      wrong.push(`W-09: delivery ${String(row["id"])} is completed, and nobody got it`);
  }
  const leases = rows.reduce((sum, row) => sum + Number(row["leases"]), 0);
  if (arrived.length > leases) wrong.push(`I2: ${arrived.length} calls under ${leases} leases`);
  return wrong;
}

onEachYard((yard) => {
  const learned = (() => {
    let known: Promise<Finding> | undefined;
    return () => (known ??= tryAt(yard));
  })();

  it.each(signalsOn(yard.dialect))(
    "[W-07][W-08][W-11][W-15] whatever a process was doing when it was stopped, another one finishes it, and nothing counts twice (%s)",
    { timeout: 240_000 },
    async (signal) => {
      const { points, problems } = await learned();
      expect(problems).toEqual([]);
      // Whoever sleeps inside a transaction has not lost a lease but holds a lock.
      const possible = chosen(points, signal, yard.dialect).filter(
        ({ locked }) => signal === "SIGKILL" || !locked,
      );
      const tried = possible.map(({ name }) => name);
      expect(tried.length).toBeGreaterThan(2);
      const found: string[] = [];
      for (let at = 0; at < tried.length; at += AT_ONCE) {
        const some = await Promise.all(
          tried.slice(at, at + AT_ONCE).map((point) => tryAt(yard, point, signal)),
        );
        found.push(...some.flatMap((one) => one.problems));
      }
      expect(found).toEqual([]);
    },
  );
}, TABLES);
