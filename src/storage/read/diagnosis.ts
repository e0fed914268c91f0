/** Diagnostic queries: the database's settings, connections, objects and query plans. */
import type { Reader } from "./reader.ts";
import { literals, raw, sql, type Sql } from "../sql.ts";

const SETTINGS = [
  "server_version",
  "fsync",
  "synchronous_commit",
  "full_page_writes",
  "statement_timeout",
  "lock_timeout",
  "idle_in_transaction_session_timeout",
  "max_connections",
] as const;

export type ServerSettings = Readonly<Record<(typeof SETTINGS)[number], string>>;

/** PostgreSQL only. */
export async function readSettings(reader: Reader): Promise<ServerSettings> {
  const rows = await reader.query(
    sql`select s.name, current_setting(s.name) as setting from unnest(array[${literals(SETTINGS)}]) as s(name)`,
  );
  const settings = rows.map((row) => [row["name"] as string, row["setting"] as string] as const);
  return Object.fromEntries(settings) as unknown as ServerSettings;
}

/** PostgreSQL only: the number of clients that are connected to the server, this one included. */
export async function countConnections(reader: Reader): Promise<number> {
  const [row] = await reader.query(
    sql`select count(*) as connections from pg_stat_activity where backend_type = 'client backend'`,
  );
  return Number(row?.["connections"]);
}

export type Pragma = "journal_mode" | "synchronous" | "secure_delete" | "busy_timeout" | "foreign_keys";

/** SQLite only. */
export async function readPragma(reader: Reader, name: Pragma): Promise<unknown> {
  const [row] = await reader.query(raw(`pragma ${name}`));
  return row && Object.values(row)[0];
}

/** SQLite only. */
export async function sqliteVersion(reader: Reader): Promise<string> {
  const [row] = await reader.query(sql`select sqlite_version() as version`);
  return String(row?.["version"]);
}

/** SQLite only: an integrity check that returns at most `max` problems. It reads every page. */
export async function damageOf(reader: Reader, max: number): Promise<readonly string[]> {
  const rows = await reader.query(raw(`pragma quick_check(${max})`));
  return rows.map((row) => String(Object.values(row)[0])).filter((text) => text !== "ok");
}

/** The names of the tables and indexes that exist. */
export async function readObjects(reader: Reader): Promise<ReadonlySet<string>> {
  const rows = await reader.query(
    reader.dialect.name === "sqlite"
      ? sql`select name from sqlite_master where type in ('table', 'index')`
      : sql`select c.relname as name from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
          where n.nspname = ${schemaOf(reader)} and c.relkind in ('r', 'p', 'i', 'I')`,
  );
  return new Set(rows.map((row) => row["name"] as string));
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

/** The tables (on SQLite their aliases) that the statement would scan completely. The statement is not executed. */
export async function scansOf(reader: Reader, statement: Sql): Promise<readonly string[]> {
  if (reader.dialect.name === "postgres") {
    const [row] = await reader.query(sql`explain (format json) ${statement}`);
    return scannedByPostgres(row?.["QUERY PLAN"], await wholeIndexes(reader));
  }
  const rows = await reader.query(sql`explain query plan ${statement}`);
  // SQLite reports SEARCH for an index lookup; a scan of a partial index is allowed.
  const tables = rows.flatMap((row) => /^SCAN (\S+)(?!.*USING)/.exec(String(row["detail"]))?.[1] ?? []);
  return [...new Set(tables)];
}

interface WholeIndex {
  readonly table: string;
  readonly firstColumn: string;
}

/** PostgreSQL only: the indexes that hold every row of their table, by name. */
async function wholeIndexes(reader: Reader): Promise<ReadonlyMap<string, WholeIndex>> {
  const rows =
    await reader.query(sql`select c.relname as name, t.relname as table_name, a.attname as first_column
    from pg_index as i join pg_class as c on c.oid = i.indexrelid join pg_class as t on t.oid = i.indrelid
    join pg_namespace as n on n.oid = c.relnamespace
    join pg_attribute as a on a.attrelid = i.indrelid and a.attnum = i.indkey[0]
    where n.nspname = ${schemaOf(reader)} and i.indpred is null`);
  return new Map(
    rows.map((row) => [
      row["name"] as string,
      { table: row["table_name"] as string, firstColumn: row["first_column"] as string },
    ]),
  );
}

/** An index that holds every row, without a condition on its first column, is read as completely as the table. */
function scannedByPostgres(plan: unknown, whole: ReadonlyMap<string, WholeIndex>): readonly string[] {
  const [root] = (typeof plan === "string" ? JSON.parse(plan) : plan) as readonly {
    readonly Plan: PlanNode;
  }[];
  const nodes = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodes)];
  const scanned = (node: PlanNode): readonly string[] => {
    if (node["Node Type"] === "Seq Scan") return [node["Relation Name"] ?? []].flat();
    const index = whole.get(node["Index Name"] ?? "");
    const isBounded = index && new RegExp(`\\b${index.firstColumn}\\b`).test(node["Index Cond"] ?? "");
    return index && !isBounded ? [index.table] : [];
  };
  return [...new Set(root ? nodes(root.Plan).flatMap(scanned) : [])];
}

/** PostgreSQL only: the planner's row estimate of each table of Amends. */
export async function tableSizes(reader: Reader): Promise<ReadonlyMap<string, number>> {
  const rows = await reader.query(sql`select c.relname as name, c.reltuples::float8 as rows from pg_class as c
    join pg_namespace as n on n.oid = c.relnamespace where n.nspname = ${schemaOf(reader)} and c.relkind = 'r'`);
  return new Map(rows.map((row) => [row["name"] as string, Number(row["rows"])]));
}

/** PostgreSQL only: indexes whose build was interrupted. */
export async function brokenIndexes(reader: Reader): Promise<readonly string[]> {
  const rows =
    await reader.query(sql`select c.relname as name from pg_index as i join pg_class as c on c.oid = i.indexrelid
    join pg_namespace as n on n.oid = c.relnamespace where n.nspname = ${schemaOf(reader)} and not i.indisvalid`);
  return rows.map((row) => row["name"] as string);
}

function schemaOf({ dialect }: Reader): string {
  return dialect.table("").text.replace(".", "");
}
