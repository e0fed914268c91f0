/** A process that delivers webhooks is killed or stopped at each crash point; another one takes over, and the invariants hold. */
import { expect, it } from "vitest";
import type { Database } from "../../../src/storage/database.ts";
import { sql } from "../../../src/storage/sql.ts";
import { checkWebhookInvariants } from "../checkers/webhook-invariants.ts";
import { openSandbox, type Sandbox } from "../harness/sandbox.ts";
import { bundled } from "../child-processes/bundle.ts";
import { Child } from "../child-processes/child.ts";
import type { CrashPoint } from "../harness/crash-points.ts";
import { arrivals, drain, receivers, webhooksOn } from "./webhook-workload.ts";
import { samplePoints, signalsOn } from "../harness/sampling.ts";
import { onEachDialect, type SandboxPool } from "../harness/sandbox-pool.ts";

const PARALLEL_MAX = 6;

interface Finding {
  readonly problems: readonly string[];
  readonly points: readonly CrashPoint[];
}

async function tryAt(
  sandboxes: SandboxPool,
  point?: string,
  signal?: "SIGKILL" | "SIGSTOP",
): Promise<Finding> {
  const sandbox = await sandboxes.create();
  const child = new Child(await bundled(), "webhooks/crashing-process", { sandbox, point, signal });
  const database = await openSandbox(sandbox, 2);
  const amends = webhooksOn(database, receivers(sandbox.effects), 2_000);
  const problems: string[] = [];
  const report = (what: string): void => void problems.push(`${point ?? "without a crash"}: ${what}`);
  if (signal === "SIGSTOP") {
    await child.stopped;
    await drain(amends);
    const before = await endedRows(database);
    const { code, errors } = await child.wake();
    if (code !== 0) report(`the woken process exited with ${code}: ${errors}`);
    const after = await endedRows(database);
    for (const [id, text] of before)
      if (after.get(id) !== text) report(`K-13: delivery ${id} changed after its end`);
  } else {
    const ended = await child.ended;
    if (signal && ended.signal !== signal) report(`the process was not killed: ${ended.errors}`);
    if (!signal && ended.code !== 0) report(`the process exited with ${ended.code}: ${ended.errors}`);
  }
  await drain(amends);
  for (const problem of await check(database, sandbox)) report(problem);
  await amends.close();
  await sandboxes.release(sandbox);
  const [message] = child.reports;
  if (message?.kind === "threw") report(message.text);
  return { problems, points: message?.kind === "finished" ? message.points : [] };
}

async function endedRows(db: Database): Promise<ReadonlyMap<string, string>> {
  const rows = await db.query(
    sql`select * from ${db.dialect.table("webhook_delivery_sagas")} where status in ('Completed', 'DeadLettered')`,
  );
  return new Map(rows.map((row) => [String(row["id"]), JSON.stringify(row)]));
}

async function check(db: Database, sandbox: Sandbox): Promise<readonly string[]> {
  const wrong = [...(await checkWebhookInvariants(db))];
  const { dialect } = db;
  const rows = await db.query(sql`select s.id, s.status, s.generation, e.event_key, p.url,
      (select sum(j.attempts) from ${dialect.table("webhook_jobs")} as j where j.saga_id = s.id) as leases
    from ${dialect.table("webhook_delivery_sagas")} as s
    join ${dialect.table("webhook_events")} as e on e.id = s.event_id
    join ${dialect.table("webhook_subscriptions")} as p on p.id = s.subscription_id`);
  const arrived = arrivals(sandbox.effects);
  const events = new Set(rows.map((row) => row["event_key"]));
  if (rows.filter((row) => Number(row["generation"]) === 0).length !== events.size * 3)
    wrong.push("W-15: an event exists without its deliveries");
  for (const row of rows) {
    const sent = arrived.filter(({ url, id }) => url === row["url"] && id === row["event_key"]);
    const isFailing = String(row["url"]).includes("failing");
    if (row["status"] !== (isFailing ? "DeadLettered" : "Completed"))
      wrong.push(`W-08: delivery ${String(row["id"])} ended ${String(row["status"])}`);
    if (row["status"] === "Completed" && !sent.some(({ ok }) => ok))
      wrong.push(`W-09: delivery ${String(row["id"])} is completed, but no receiver accepted it`);
  }
  const leases = rows.reduce((sum, row) => sum + Number(row["leases"]), 0);
  if (arrived.length > leases) wrong.push(`I2: there were ${arrived.length} calls under ${leases} leases`);
  return wrong;
}

onEachDialect((sandboxes) => {
  const discovered = (() => {
    let known: Promise<Finding> | undefined;
    return () => (known ??= tryAt(sandboxes));
  })();

  it.each(signalsOn(sandboxes.dialect))(
    "[W-07][W-08][W-11][W-15] wherever a process is stopped, another one finishes its deliveries, and no result counts twice (%s)",
    { timeout: 240_000 },
    async (signal) => {
      const { points, problems } = await discovered();
      expect(problems).toEqual([]);
      // A process that is stopped inside a transaction holds a lock and loses no lease.
      const possible = samplePoints(points, signal, sandboxes.dialect).filter(
        ({ locked }) => signal === "SIGKILL" || !locked,
      );
      const tried = possible.map(({ name }) => name);
      expect(tried.length).toBeGreaterThan(2);
      const found: string[] = [];
      for (let at = 0; at < tried.length; at += PARALLEL_MAX) {
        const some = await Promise.all(
          tried.slice(at, at + PARALLEL_MAX).map((point) => tryAt(sandboxes, point, signal)),
        );
        found.push(...some.flatMap((one) => one.problems));
      }
      expect(found).toEqual([]);
    },
  );
});
