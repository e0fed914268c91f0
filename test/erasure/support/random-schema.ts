/**
 * Databases that nobody designed: tables with keys of one or two columns, foreign keys of every kind, personal columns
 * of many types, and rows of two people that refer to one another. Every personal value is a marker that occurs once.
 */
import fc from "fast-check";
import type { DataMapJson, PersonalColumn } from "amends/erasure";
import type { DatabaseName } from "../../support/databases.ts";

const ON_DELETE = ["no action", "restrict", "cascade", "set null"] as const;

interface RandomColumn {
  readonly kind: keyof typeof KINDS;
  readonly strategy: "delete" | "anonymize" | "retain";
  readonly isOver: boolean;
  readonly isUnique: boolean;
  readonly isRequired: boolean;
}

interface RandomTable {
  /** Of the tables before it; undefined for one with the subject's own column. */
  readonly via: number | undefined;
  readonly hasPair: boolean;
  readonly columns: readonly RandomColumn[];
  readonly hasPlain: boolean;
  readonly keepRows: boolean;
  /** A further foreign key, to any table before it or to itself. */
  readonly extra: { readonly to: number; readonly onDelete: (typeof ON_DELETE)[number] } | undefined;
  readonly onDelete: (typeof ON_DELETE)[number];
}

export interface RandomRow {
  readonly table: number;
  readonly who: "ann" | "ben";
  /** Which of the parent's rows, modulo how many there are. */
  readonly parent: number;
  readonly extra: number | undefined;
}

export interface RandomWorld {
  readonly tables: readonly RandomTable[];
  readonly rows: readonly RandomRow[];
}

interface Kind {
  readonly sql: Readonly<Record<DatabaseName, string>>;
  /** A value of this type that occurs nowhere else, and the text by which it is found. */
  readonly marker: (n: number) => { readonly sql: string; readonly text: string };
}

const quote = (text: string): { sql: string; text: string } => ({ sql: `'${text}'`, text });
const KINDS = {
  text: { sql: { postgres: "text", sqlite: "text" }, marker: (n) => quote(`marker-${n}-x`) },
  varchar: { sql: { postgres: "varchar(20)", sqlite: "varchar(20)" }, marker: (n) => quote(`marker-${n}-x`) },
  integer: {
    sql: { postgres: "bigint", sqlite: "integer" },
    marker: (n) => ({ sql: String(77_000_000 + n), text: String(77_000_000 + n) }),
  },
  uuid: {
    sql: { postgres: "uuid", sqlite: "uuid" },
    marker: (n) => quote(`aaaaaaaa-0000-4000-8000-${String(n).padStart(12, "0")}`),
  },
  json: {
    sql: { postgres: "jsonb", sqlite: "json" },
    marker: (n) => ({ sql: `'{"who": "marker-${n}-x"}'`, text: `marker-${n}-x` }),
  },
  bytes: {
    sql: { postgres: "bytea", sqlite: "blob" },
    marker: (n) => ({ sql: `'marker-${n}-x'`, text: `marker-${n}-x` }),
  },
} as const satisfies Record<string, Kind>;

const someColumn: fc.Arbitrary<RandomColumn> = fc.record({
  kind: fc.constantFrom(...(Object.keys(KINDS) as (keyof typeof KINDS)[])),
  strategy: fc.constantFrom("delete", "delete", "anonymize", "retain"),
  isOver: fc.boolean(),
  isUnique: fc.boolean(),
  isRequired: fc.boolean(),
});

const table = (at: number): fc.Arbitrary<RandomTable> =>
  fc.record({
    via: at === 0 ? fc.constant(undefined) : fc.option(fc.nat(at - 1), { nil: undefined, freq: 4 }),
    hasPair: fc.boolean(),
    columns: fc.array(someColumn, { maxLength: 3 }),
    hasPlain: fc.boolean(),
    keepRows: fc.boolean(),
    extra: fc.option(fc.record({ to: fc.nat(at), onDelete: fc.constantFrom(...ON_DELETE) }), {
      nil: undefined,
      freq: 2,
    }),
    onDelete: fc.constantFrom(...ON_DELETE),
  });

export const worlds: fc.Arbitrary<RandomWorld> = fc.integer({ min: 1, max: 5 }).chain((count) =>
  fc.record({
    tables: fc.tuple(...Array.from({ length: count }, (_, at) => table(at))),
    rows: fc.array(
      fc.record({
        table: fc.nat(count - 1),
        who: fc.constantFrom("ann", "ben"),
        parent: fc.nat(5),
        extra: fc.option(fc.nat(5), { nil: undefined }),
      }),
      { minLength: count, maxLength: 16 },
    ),
  }),
);

/** The world as SQL and as a data map, with the markers of each person that an erasure must take away. */
export interface BuiltWorld {
  readonly ddl: string;
  readonly inserts: readonly string[];
  readonly map: DataMapJson;
  readonly tables: readonly string[];
  readonly erased: ReadonlySet<string>;
  /** Markers of what is retained, and of the other person. */
  readonly kept: ReadonlySet<string>;
  /** Ids of the other person's rows. */
  readonly others: ReadonlySet<string>;
}

export function build({ tables, rows }: RandomWorld, database: DatabaseName): BuiltWorld {
  const map = Object.fromEntries(tables.map((one, at) => [`t${at}`, mapOf(one, tables)]));
  const ddl = tables
    .map((one, at) => `create table t${at} (${definitions(one, tables, database).join(", ")});`)
    .join("\n");
  return { ddl, map, tables: tables.map((_, at) => `t${at}`), ...fill(tables, rows, database) };
}

function mapOf(one: RandomTable, tables: readonly RandomTable[]): DataMapJson[string] {
  const personals = Object.fromEntries(one.columns.map((column, at) => [`c${at}`, personal(column, at)]));
  const reach =
    one.via === undefined
      ? { subject: "who" }
      : { via: { table: `t${one.via}`, columns: tables[one.via]?.hasPair ? ["up_b", "up"] : "up" } };
  return { ...reach, columns: personals, ...(one.keepRows && { keepRows: true }) };
}

function personal({ strategy, isOver }: RandomColumn, at: number): PersonalColumn {
  const category = `category-${at}`;
  if (strategy !== "retain") return { category, strategy };
  return {
    category,
    strategy,
    policy: { reason: "law", legalBasis: "law", duration: isOver ? "1d" : "50y", anchor: "since" },
  };
}

const keyOf = (one: RandomTable | undefined): string => (one?.hasPair ? "id, id_b" : "id");

/** A key to a table with a pair needs a pair, and the other way round: the two sides share `hasPair` of the parent. */
function definitions(
  one: RandomTable,
  tables: readonly RandomTable[],
  database: DatabaseName,
): readonly string[] {
  const lines = ["id text not null"];
  if (one.hasPair) lines.push("id_b text not null");
  if (one.via === undefined) lines.push("who text not null");
  const instant = database === "postgres" ? "timestamptz" : "text";
  if (one.columns.some(({ strategy }) => strategy === "retain")) lines.push(`since ${instant} not null`);
  if (one.hasPlain) lines.push("plain text not null");
  one.columns.forEach(({ kind, isUnique, isRequired }, at) => {
    lines.push(
      `c${at} ${KINDS[kind].sql[database]}${isRequired ? " not null" : ""}${isUnique ? " unique" : ""}`,
    );
  });
  const keys: string[] = [];
  const refer = (prefix: string, to: number, onDelete: string): void => {
    const parent = tables[to];
    lines.push(`${prefix} text`);
    if (parent?.hasPair) lines.push(`${prefix}_b text`);
    const columns = parent?.hasPair ? `${prefix}, ${prefix}_b` : prefix;
    keys.push(`foreign key (${columns}) references t${to} (${keyOf(parent)}) on delete ${onDelete}`);
  };
  if (one.via !== undefined) refer("up", one.via, one.onDelete);
  if (one.extra) refer("also", one.extra.to, one.extra.onDelete);
  return [...lines, `primary key (${keyOf(one)})`, ...keys];
}

function fill(
  tables: readonly RandomTable[],
  rows: readonly RandomRow[],
  database: DatabaseName,
): Pick<BuiltWorld, "inserts" | "erased" | "kept" | "others"> {
  const ids = new Map<string, string[]>();
  const inserts: string[] = [];
  const erased = new Set<string>();
  const kept = new Set<string>();
  const others = new Set<string>();
  let count = 0;
  for (const row of rows.toSorted((a, b) => a.table - b.table)) {
    const one = tables[row.table] as RandomTable;
    const parents = one.via === undefined ? [""] : (ids.get(`t${one.via}.${row.who}`) ?? []);
    const up = parents[row.parent % Math.max(parents.length, 1)];
    if (up === undefined) continue; // this person has no row that it could belong to
    const id = `r${(count += 1)}`;
    const values: Record<string, string> = { id: `'${id}'` };
    if (one.hasPair) values["id_b"] = "'b'";
    if (one.via === undefined) values["who"] = `'${row.who}'`;
    else put(values, "up", up, tables[one.via]);
    const everyone = one.extra
      ? [...(ids.get(`t${one.extra.to}.ann`) ?? []), ...(ids.get(`t${one.extra.to}.ben`) ?? [])]
      : [];
    const also = row.extra === undefined ? undefined : everyone[row.extra % Math.max(everyone.length, 1)];
    if (one.extra && also !== undefined) put(values, "also", also, tables[one.extra.to]);
    if (one.columns.some(({ strategy }) => strategy === "retain")) values["since"] = "'2020-02-29T00:00:00Z'";
    if (one.hasPlain) values["plain"] = "'plain'";
    one.columns.forEach((column, at) => {
      const marker = KINDS[column.kind].marker((count += 1));
      values[`c${at}`] =
        column.kind === "bytes" && database === "sqlite" ? `cast(${marker.sql} as blob)` : marker.sql;
      const isKept = row.who === "ben" || (column.strategy === "retain" && !column.isOver);
      (isKept ? kept : erased).add(marker.text);
    });
    inserts.push(
      `insert into t${row.table} (${Object.keys(values).join(", ")}) values (${Object.values(values).join(", ")})`,
    );
    if (row.who === "ben") others.add(id);
    const name = `t${row.table}.${row.who}`;
    ids.set(name, [...(ids.get(name) ?? []), id]);
  }
  return { inserts, erased, kept, others };
}

function put(
  values: Record<string, string>,
  prefix: string,
  id: string,
  parent: RandomTable | undefined,
): void {
  values[prefix] = `'${id}'`;
  if (parent?.hasPair) values[`${prefix}_b`] = "'b'";
}
