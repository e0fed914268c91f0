/** How a database would carry a statement out: which of our tables it would read from one end to the other. */
import pg from "pg";
import { connectionDefaults } from "../../src/storage/postgres/settings.ts";
import type { Database } from "../../src/storage/database.ts";
import { sql, type Sql } from "../../src/storage/sql.ts";

/**
 * Indexes of open work only: a list may read one from end to end, as it reads what is open however much has ended.
 * Whatever looks for single rows may not.
 */
export interface Watch {
  readonly small: RegExp;
  readonly tables: readonly string[];
}

const KERNEL: Watch = {
  small: /saga_executions_(due|stalled|failing|excluded)|lost_sagas_found|outbox_(abandoned|scheduled)/,
  tables: ["saga_executions", "saga_logs", "saga_signals", "saga_interests", "outbox", "audit_events"],
};

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Name"?: string;
  readonly "Index Cond"?: string;
  readonly Plans?: readonly PlanNode[];
}

export interface Explainer {
  /** What is scanned, in words; empty where an index serves. */
  scans(statement: Sql): Promise<readonly string[]>;
  /** The indexes of the watched tables by which it is served, sorted. SQLite calls each primary key by that name. */
  indexes(statement: Sql): Promise<readonly string[]>;
  end(): Promise<void>;
}

/** `generic` is how our own connections plan, `custom` how a pool of the caller's does. */
export async function explainPostgres(
  url: string,
  mode: "generic" | "custom",
  watch: Watch = KERNEL,
): Promise<Explainer> {
  const ours = mode === "generic" ? connectionDefaults(30_000) : {};
  const client = new pg.Client({ ...ours, connectionString: url });
  await client.connect();
  let count = 0;
  const planOf = async (statement: Sql): Promise<readonly PlanNode[]> => {
    const name = `plan_${(count += 1)}`;
    await client.query(`prepare ${name} as ${statement.text}`);
    const values = statement.values.map(literal).join(", ");
    const call = values === "" ? name : `${name}(${values})`;
    const { rows } = await client.query<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
      `explain (format json) execute ${call}`,
    );
    return nodesOf((rows[0] as (typeof rows)[0])["QUERY PLAN"][0].Plan);
  };
  return {
    async scans(statement) {
      return (await planOf(statement)).flatMap((node) => scanOf(node, isList(statement), watch));
    },
    async indexes(statement) {
      const names = (await planOf(statement)).flatMap(({ "Index Name": index }) => index ?? []);
      return named(names, watch);
    },
    end: () => client.end(),
  };
}

function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof Buffer) return pg.escapeLiteral(`{${elementsOf(value).join(",")}}`);
  return typeof value === "number" ? String(value) : pg.escapeLiteral(value as string);
}

/** The elements of an array that travels in binary, as they stand in one that is written. */
function elementsOf(array: Buffer): string[] {
  const [type, count] = [array.readInt32BE(8), array.length > 12 ? array.readInt32BE(12) : 0];
  const elements: string[] = [];
  for (let at = 20; elements.length < count;) {
    const length = array.readInt32BE(at);
    at += 4;
    elements.push(length < 0 ? "NULL" : JSON.stringify(elementOf(array.subarray(at, at + length), type)));
    at += Math.max(length, 0);
  }
  return elements;
}

const [INT, BIGINT, FLOAT, UUID] = [23, 20, 701, 2950];

function elementOf(bytes: Buffer, type: number): string {
  if (type === INT) return String(bytes.readInt32BE());
  if (type === BIGINT) return String(bytes.readBigInt64BE());
  if (type === FLOAT) return String(bytes.readDoubleBE());
  return type === UUID ? bytes.toString("hex") : bytes.toString();
}

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodesOf)];
}

function isList(statement: Sql): boolean {
  return statement.sql.startsWith("select");
}

function scanOf(node: PlanNode, ofList: boolean, watch: Watch): string[] {
  const {
    "Node Type": type,
    "Relation Name": table = "",
    "Index Name": index,
    "Index Cond": condition,
  } = node;
  if (type === "Seq Scan" && watch.tables.includes(table)) return [`${type} on ${table}`];
  if (!type.includes("Index") || index === undefined || condition !== undefined) return [];
  if (table !== "" && !watch.tables.includes(table)) return [];
  return ofList && watch.small.test(index) ? [] : [`${type} of all of ${index}`];
}

/** The indexes of a table are named after it, but for those that have the names of the sources. */
function isOf(index: string, table: string): boolean {
  return index.startsWith(table) || (table === "webhook_delivery_sagas" && /^(?:idx|uniq)_saga_/.test(index));
}

function named(names: readonly string[], { tables }: Watch): readonly string[] {
  const ours = names.filter((name) => name === PRIMARY_KEY || tables.some((table) => isOf(name, table)));
  return [...new Set(ours)].toSorted();
}

const PRIMARY_KEY = "primary key";

export function explainSqlite(db: Database, watch: Watch = KERNEL): Explainer {
  const detailsOf = async (statement: Sql): Promise<readonly string[]> => {
    const rows = await db.query(sql`explain query plan ${statement}`);
    return rows.map((row) => row["detail"] as string);
  };
  return {
    async indexes(statement) {
      const names = (await detailsOf(statement)).flatMap(
        (detail) =>
          /USING (?:COVERING )?INDEX amends_(\w+)/.exec(detail)?.[1] ??
          (detail.includes("USING INTEGER PRIMARY KEY") ? PRIMARY_KEY : []),
      );
      return named(names, watch);
    },
    async scans(statement) {
      const details = await detailsOf(statement);
      // What is not a table of ours: rows that were given as JSON, and what the statement itself picked.
      return details.filter(
        (detail) =>
          /^SCAN (?!json_each|r\b|ids\b|picked|pick_|value|CONSTANT ROW|lane|listed|first)/.test(detail) &&
          !(isList(statement) && watch.small.test(detail)),
      );
    },
    end: async () => undefined,
  };
}
