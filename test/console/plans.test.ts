/** Among very many sagas that have ended, nothing that the console asks reads them all. */
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../src/storage/sql.ts";
import { explainPostgres, explainSqlite, type Explainer } from "../conformance/plans.ts";
import { recorded } from "../conformance/recorded-database.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { orders } from "./support/shop.ts";
import { program, visit } from "./support/visit.ts";

const ENDED = 20_000;
const OPEN = 300;

/** Ended sagas, then statistics, then open ones: the moment at which statistics mislead most. */
async function fill(db: Database): Promise<void> {
  const { dialect } = db;
  const table = dialect.table("saga_executions");
  const add = async (count: number, prefix: string, status: Sql): Promise<void> => {
    const numbers = dialect.rows(
      [{ name: "n", type: "int" }],
      Array.from({ length: count }, (_, n) => [n]),
    );
    const at = dialect.plusMs(dialect.now(), sql`(0 - r.n * 100)`);
    await db.query(sql`insert into ${table} (id, name, status, context, plan, version, token, next_attempt_at, created_at, updated_at)
      select ${prefix} || r.n, 'saga-' || (r.n % 7), ${status}, '{"input":{}}', 'one~ two', 3, 1, ${at}, ${at}, ${at} from ${numbers}`);
  };
  if (dialect.name === "postgres") await db.query(sql`alter table ${table} set (autovacuum_enabled = false)`);
  await add(ENDED, "ended-", sql`case r.n % 100 when 0 then 'FAILED' else 'COMPLETED' end`);
  await db.query(raw("analyze"));
  await add(OPEN, "open-", sql`case r.n % 3 when 0 then 'PENDING' when 1 then 'RUNNING' else 'STALLED' end`);
}

/** Every read of the console, with every filter. */
async function statementsOf(database: TestDatabase, db: Database): Promise<readonly Sql[]> {
  const { database: watched, statements } = recorded(db);
  const amends = await database.amends({ database: watched, sagas: [orders()] });
  const { as, ask, console } = visit(amends);
  const after = Buffer.from(JSON.stringify([Date.now(), "ended-5"])).toString("base64url");
  for (const path of [
    ...["15m", "1h", "6h", "24h"].map((window) => `/api/overview?window=${window}`),
    "/api/session",
    "/api/metrics",
    "/api/ready",
    "/api/attention",
    "/api/audit",
    "/api/sagas/ended-1",
    ...[
      "",
      "status=FAILED",
      "status=STALLED",
      "status=RUNNING",
      "name=saga-3",
      "q=saga-3%20failed",
      "q=ended-77",
      "q=end:x",
    ].flatMap((query) => [
      `/api/sagas?${query}`,
      `/api/sagas?${query}&after=${after}`,
      `/api/sagas?${query}&from=2020-01-01&to=2120-01-01`,
    ]),
  ]) {
    const response = await as("revealer", path);
    expect([path, [200, 503].includes(response.status)]).toEqual([path, true]);
  }
  const live = await ask("/api/live?saga=ended-1", { headers: program("reader") });
  const reader = (live.body as ReadableStream<Uint8Array>).getReader();
  await reader.read();
  while (!statements().some((one) => one.sql.includes("'stalled' as what"))) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  await reader.cancel();
  console.close();
  return statements().filter((one) => /saga_(executions|logs)/.test(one.sql) && !/^explain/i.test(one.sql));
}

async function scansOf(statements: readonly Sql[], explainer: Explainer): Promise<readonly string[]> {
  const found: string[] = [];
  for (const statement of statements) {
    const scans = await explainer.scans(statement);
    found.push(...scans.map((scan) => `${scan}: ${statement.sql.replaceAll(/\s+/g, " ")}`));
  }
  await explainer.end();
  return found;
}

/** What a statement made itself and walks over, and the two indexes of what is open or stalled: never all of a table. */
const OWN = /^SCAN (?:s|k|u|d|p|opened|due|hits|last|walk|counted|t|CONSTANT ROW|json_each.*)$/;
const SMALL = /(?:INDEX|of all of) \S*saga_executions_(?:due|stalled)$/;

function large(scans: readonly string[]): readonly string[] {
  return scans.filter((scan) => {
    const [what = ""] = scan.split(": ");
    return !OWN.test(what) && !SMALL.test(what);
  });
}

onDatabase("sqlite", (database) => {
  it("[P-04] indexes serve every read of the console, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(20);
    const scans = await scansOf(statements, explainSqlite(db));
    expect(large(scans)).toEqual([]);
  });
});

onDatabase("postgres", (database) => {
  it("[P-04] indexes serve every read of the console, whatever the statistics say", async () => {
    const db = await database.open();
    await fill(db);
    const statements = await statementsOf(database, db);
    expect(statements.length).toBeGreaterThan(20);
    const scans = await scansOf(statements, await explainPostgres(await database.place(), "generic"));
    expect(large(scans)).toEqual([]);
  });
});
