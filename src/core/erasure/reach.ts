/** The path from a row to its subject: its own column, or rows of other tables. */
import type { DataMap, MappedTable } from "./data-map.ts";
import type { ColumnType, ForeignKey, LiveSchema, LiveTable } from "./schema.ts";

export type Reach =
  | { readonly kind: "subject"; readonly table: string; readonly column: string; readonly type: ColumnType }
  | {
      readonly kind: "via";
      readonly columns: readonly string[];
      /** The table that they refer to, as SQL names it. */
      readonly sqlName: string;
      readonly references: readonly string[];
      readonly onward: Reach;
    };

export interface FoundReach {
  readonly reach: Reach;
  readonly columns: readonly string[];
  /** The foreign key to the next table on the path; it may be declared in the map only. */
  readonly way: ForeignKey | undefined;
}

export interface NoReach {
  readonly table: string;
  readonly column?: string;
  readonly problem: string;
}

const SUBJECT_FAMILIES = new Set(["text", "integer", "uuid"]);

export function findReach(
  mapped: MappedTable,
  map: DataMap,
  schema: LiveSchema,
  live: ReadonlyMap<string, LiveTable>,
): FoundReach | NoReach {
  const { name, reach } = mapped;
  const table = live.get(name) as LiveTable;
  if (reach.kind === "subject") {
    const column = table.columns.find((one) => one.name === reach.column);
    if (!column)
      return {
        table: name,
        column: reach.column,
        problem: "there is no such column to find the subject by. Name the one that holds the subject's id",
      };
    const { type } = column;
    if (!SUBJECT_FAMILIES.has(type.family)) {
      return {
        table: name,
        column: reach.column,
        problem: `has the type ${type.sqlName || type.family}; a subject's id is a text, a whole number or a UUID`,
      };
    }
    return {
      reach: { kind: "subject", table: name, column: column.name, type },
      columns: [column.name],
      way: undefined,
    };
  }
  const key = findKey(mapped, reach, schema, table);
  if ("problem" in key) return key;
  const parent = map.tables.find((one) => one.name === reach.table) as MappedTable;
  const parentLive = live.get(parent.name) as LiveTable;
  const missing = key.references.find((column) => !parentLive.columns.some((one) => one.name === column));
  if (missing !== undefined)
    return {
      table: parent.name,
      column: missing,
      problem: `there is no such column, and ${name} refers to it. Correct \`references\``,
    };
  const onward = findReach(parent, map, schema, live);
  if ("problem" in onward)
    return { table: name, problem: `its rows do not reach a subject, because ${parent.name} does not` };
  const { columns, references, way } = key;
  return {
    reach: { kind: "via", columns, sqlName: parentLive.sqlName, references, onward: onward.reach },
    columns,
    way,
  };
}

interface Key {
  readonly columns: readonly string[];
  readonly references: readonly string[];
  readonly way: ForeignKey;
}

function findKey(
  { name }: MappedTable,
  reach: Extract<MappedTable["reach"], { kind: "via" }>,
  schema: LiveSchema,
  table: LiveTable,
): Key | NoReach {
  const { table: to, columns, references } = reach;
  const missing = columns?.find((column) => !table.columns.some((one) => one.name === column));
  if (missing !== undefined)
    return {
      table: name,
      column: missing,
      problem: `there is no such column to reach ${to} by. Correct \`via\``,
    };
  const keys = schema.foreignKeys.filter(
    (key) =>
      key.child === name && key.parent === to && (columns === undefined || sameSet(key.columns, columns)),
  );
  const [key] = keys;
  if (columns === undefined) {
    if (keys.length > 1) {
      return {
        table: name,
        problem: `several foreign keys lead to ${to} (${keys.map((one) => one.columns.join(", ")).join("; ")}). Say which: via: { table: "${to}", columns: … }`,
      };
    }
    if (!key)
      return {
        table: name,
        problem: `its rows cannot reach ${to}: there is no foreign key to it. Say by which columns: via: { table: "${to}", columns: …, references: … }`,
      };
    return { columns: key.columns, references: key.references, way: key };
  }
  if (references === undefined) {
    if (!key)
      return {
        table: name,
        column: columns.join(", "),
        problem: `is no foreign key to ${to}. Say what it refers to: via: { table: "${to}", columns: …, references: … }`,
      };
    return { columns: key.columns, references: key.references, way: key };
  }
  const same = keys.find((one) =>
    columns.every((column, at) => one.references[one.columns.indexOf(column)] === references[at]),
  );
  const declared: ForeignKey = {
    child: name,
    childSqlName: table.sqlName,
    columns,
    required: false,
    parent: to,
    references,
    onDelete: "no action",
  };
  return { columns, references, way: same ?? declared };
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one));
}

/** The columns of this path that hold the subject's id. */
export function subjectColumn(reach: Reach): Extract<Reach, { kind: "subject" }> {
  return reach.kind === "subject" ? reach : subjectColumn(reach.onward);
}
