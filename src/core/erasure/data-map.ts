/**
 * The data map: where an application keeps personal data. Per table it says how a row reaches its subject, and per
 * column what the data is (its category) and what an erasure does with it. It is declared once, checked for itself
 * here, and checked against the database's own schema before every erasure (fit.ts).
 */
import { AmendsError } from "../errors.ts";
import { checkName } from "../identity.ts";
import { refuseUnknown } from "../options.ts";
import { span, type Period } from "./period.ts";

export const STRATEGIES = ["delete", "anonymize", "retain"] as const;
/** What an erasure does with a column: delete its row, replace the value, or keep it for a legal reason. */
export type Strategy = (typeof STRATEGIES)[number];

/** A value that takes the place of an erased one. */
export type SurrogateValue = string | number | boolean;

/** Why something must be kept although its subject asked for its erasure, and for how long. */
export interface LegalRetention {
  /** For people: "invoices are kept for the tax office". */
  readonly reason: string;
  /** The law that demands it: "§ 147 AO", "Art. 6(1)(c) GDPR". */
  readonly legalBasis: string;
  /** Counted from the anchor: "10y", "6mo", "30d". */
  readonly duration: Period;
  /** The column of the same table that holds the instant from which the duration counts. */
  readonly anchor: string;
  /** The unit of a number in the anchor, since 1970. Default: milliseconds. */
  readonly anchorUnit?: "ms" | "s";
  /** What an erasure does once the time is over. Default: `delete`. */
  readonly afterwards?: "delete" | "anonymize";
}

interface Personal<Category extends string> {
  /** What kind of personal data it is: `email`, `name`, … A rectification names it. */
  readonly category: Category;
  /** What an erased column holds if the row stays. Default: a value that fits the column's type. */
  readonly surrogate?: SurrogateValue;
}

/** A personal column that an erasure empties or whose row it deletes. */
export interface ErasedColumn<Category extends string = string> extends Personal<Category> {
  /** What an erasure does with the column. */
  readonly strategy: "delete" | "anonymize";
  /** Only with `strategy: "retain"`. */
  readonly policy?: never;
}

/** A personal column that the law requires to be kept. */
export interface RetainedColumn<Category extends string = string> extends Personal<Category> {
  /** The value stays until its time is over. */
  readonly strategy: "retain";
  /** Why it is kept, and for how long. */
  readonly policy: LegalRetention;
}

/** A column that holds personal data. */
export type PersonalColumn<Category extends string = string> =
  | ErasedColumn<Category>
  | RetainedColumn<Category>;

/** How a row belongs to a person through another table. */
export interface ViaDeclaration<Table extends string = string> {
  /** The table in between. */
  readonly table: Table;
  /** The foreign key's columns in this table, in its order. */
  readonly columns: string | readonly string[];
  /** The columns that they refer to; needed only where the database has no such foreign key. */
  readonly references?: string | readonly string[];
}

interface AnyTable<Category extends string> {
  /** Personal columns. A table without any is only a way to others. */
  readonly columns?: Readonly<Record<string, PersonalColumn<Category>>>;
  /** The rows stay in any case, although everything in them may be personal. */
  readonly keepRows?: boolean;
}

interface OwnTable<Category extends string> extends AnyTable<Category> {
  /** The column that holds the subject's id. */
  readonly subject: string;
  readonly via?: never;
}

interface ReachingTable<Table extends string, Category extends string> extends AnyTable<Category> {
  readonly subject?: never;
  /** The mapped table through which a row reaches its subject: its name, where one foreign key leads there. */
  readonly via: Table | ViaDeclaration<Table>;
}

/** What one table holds of a person, and how its rows belong to one. */
export type TableDeclaration<Table extends string = string, Category extends string = string> =
  | OwnTable<Category>
  | ReachingTable<Table, Category>;

/** A data map as plain JSON, by the name of the table. */
export type DataMapJson = Readonly<Record<string, TableDeclaration>>;

export interface MappedTable {
  readonly name: string;
  readonly reach: MappedReach;
  readonly columns: Readonly<Record<string, PersonalColumn>>;
  readonly keepRows: boolean;
}

export type MappedReach =
  | { readonly kind: "subject"; readonly column: string }
  | {
      readonly kind: "via";
      readonly table: string;
      readonly columns: readonly string[] | undefined;
      readonly references: readonly string[] | undefined;
    };

/** Where an application holds personal data. `dataMap` makes one. */
export interface DataMap<Category extends string = string> {
  /** The tables that hold personal data. */
  readonly tables: readonly MappedTable[];
  /** The categories of personal data, such as `email`. */
  readonly categories: readonly Category[];
  /** What `dataMapFromJson` reads. */
  toJSON(): DataMapJson;
}

/** Declares where personal data is. Throws where the map contradicts itself. */
export function dataMap<const Table extends string, const Category extends string>(
  tables: Readonly<Record<Table, TableDeclaration<NoInfer<Table>, Category>>>,
): DataMap<Category> {
  const read = readTables(tables);
  const categories = new Set(
    read.flatMap(({ columns }) => Object.values(columns).map(({ category }) => category)),
  );
  return {
    tables: read,
    categories: [...categories] as Category[],
    toJSON: () => structuredJson(tables),
  };
}

/** A map that was written as JSON, such as `JSON.parse(text)`. It is checked like any other. */
export function dataMapFromJson(json: unknown): DataMap {
  return dataMap(json as DataMapJson);
}

function structuredJson(tables: DataMapJson): DataMapJson {
  return JSON.parse(JSON.stringify(tables)) as DataMapJson;
}

/** A map made elsewhere, by another copy of this library, is as good as one made here. */
export function isDataMap(value: unknown): value is DataMap {
  const { tables, toJSON } = (value ?? {}) as Partial<DataMap>;
  return Array.isArray(tables) && typeof toJSON === "function";
}

const NAME_MAX = 200;
const TABLE_KEYS = ["subject", "via", "columns", "keepRows"];
const COLUMN_KEYS = ["category", "strategy", "policy", "surrogate"];
const POLICY_KEYS = ["reason", "legalBasis", "duration", "anchor", "anchorUnit", "afterwards"];

function readTables(given: unknown): readonly MappedTable[] {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    return refuse("A data map is an object: the names of tables, and what each holds.");
  }
  const tables = Object.entries(given).map(([name, table]) => readTable(name, table));
  if (tables.length === 0) return refuse("A data map needs at least one table.");
  for (const table of tables) checkWay(table, tables);
  return tables;
}

function readTable(name: string, given: unknown): MappedTable {
  const where = `The data map, table ${checkIdentifier(name, "the name of a table")}`;
  refuseUnknown(given, TABLE_KEYS, where);
  const { subject, via, columns = {}, keepRows = false } = given as Partial<Record<string, unknown>>;
  if ((subject === undefined) === (via === undefined)) {
    return refuse(
      `${where}: say either \`subject\`, the column with the subject's id, or \`via\`, the mapped table through which its rows reach one.`,
    );
  }
  if (typeof keepRows !== "boolean") return refuse(`${where}: keepRows is true or false.`);
  refuseUnknown(columns, Object.keys(columns as object), `${where}, columns`);
  const read = Object.entries(columns as object).map(
    ([column, personal]) => [column, readColumn(name, column, personal)] as const,
  );
  const reach: MappedReach =
    via === undefined
      ? { kind: "subject", column: checkIdentifier(subject, `${where}: subject`) }
      : readVia(via, where);
  const own = reach.kind === "subject" ? [reach.column] : (reach.columns ?? []);
  const both = own.find((column) => read.some(([personal]) => personal === column));
  if (both !== undefined) {
    return refuse(
      `The data map, ${name}.${both}: rows reach their subject through it, so it cannot be a personal column. A subject's id is on record for as long as the audit trail: choose one that says nothing about the person.`,
    );
  }
  return { name, reach, columns: Object.fromEntries(read), keepRows };
}

function readVia(via: unknown, where: string): MappedReach {
  if (typeof via === "string") return { kind: "via", table: via, columns: undefined, references: undefined };
  refuseUnknown(via, ["table", "columns", "references"], `${where}, via`);
  const { table, columns, references } = via as Partial<Record<string, unknown>>;
  const list = (names: unknown, field: string): readonly string[] => {
    const all = Array.isArray(names) ? (names as unknown[]) : [names];
    if (all.length === 0) return refuse(`${where}, via: ${field} must not be empty.`);
    return all.map((name) => checkIdentifier(name, `${where}, via: ${field}`));
  };
  const from = list(columns, "columns");
  const to = references === undefined ? undefined : list(references, "references");
  if (to && to.length !== from.length) {
    return refuse(`${where}, via: columns and references must be equally many.`);
  }
  return {
    kind: "via",
    table: checkIdentifier(table, `${where}, via: table`),
    columns: from,
    references: to,
  };
}

/** Every way must end at a table with a subject's column. */
function checkWay(table: MappedTable, tables: readonly MappedTable[]): void {
  const way = [table.name];
  for (let at = table; at.reach.kind === "via";) {
    const { table: next } = at.reach;
    const found = tables.find(({ name }) => name === next);
    if (!found) {
      return refuse(
        `The data map, table ${at.name}: its rows go via ${next}, which is not in the map. Add ${next} to it.`,
      );
    }
    if (way.includes(next)) {
      return refuse(
        `The data map, table ${table.name}: its rows never reach a subject, they go in a circle (${[...way, next].join(" → ")}). One of these tables needs \`subject\`.`,
      );
    }
    way.push(next);
    at = found;
  }
}

function readColumn(table: string, column: string, given: unknown): PersonalColumn {
  const where = `The data map, ${table}.${checkIdentifier(column, `a column of ${table}`)}`;
  refuseUnknown(given, COLUMN_KEYS, where);
  const { category, strategy, policy, surrogate } = given as Partial<Record<string, unknown>>;
  checkName(category, `${where}: category`);
  if (!STRATEGIES.includes(strategy as Strategy)) {
    return refuse(`${where}: the strategy is one of ${STRATEGIES.join(", ")}.`);
  }
  if (surrogate !== undefined && !["string", "number", "boolean"].includes(typeof surrogate)) {
    return refuse(`${where}: a surrogate is a text, a number, true or false. It is never empty (null).`);
  }
  if (strategy !== "retain" && policy !== undefined) {
    return refuse(`${where}: only what is retained has a policy.`);
  }
  if (strategy === "retain") checkPolicy(policy, where);
  return given as PersonalColumn;
}

function checkPolicy(policy: unknown, where: string): void {
  if (policy === undefined) {
    refuse(
      `${where}: what is retained needs a policy: reason, legalBasis, duration and anchor. Without one it must be erased.`,
    );
  }
  refuseUnknown(policy, POLICY_KEYS, `${where}, policy`);
  const { reason, legalBasis, duration, anchor, anchorUnit, afterwards } = policy as Record<string, unknown>;
  for (const [field, text] of Object.entries({ reason, legalBasis })) {
    if (typeof text !== "string" || text.trim() === "" || text.length > 500) {
      refuse(`${where}, policy: ${field} must say something, in up to 500 characters.`);
    }
  }
  span(duration as Period, `${where}, policy: duration`);
  checkIdentifier(anchor, `${where}, policy: anchor`);
  if (anchorUnit !== undefined && anchorUnit !== "ms" && anchorUnit !== "s") {
    refuse(`${where}, policy: anchorUnit is "ms" or "s".`);
  }
  if (afterwards !== undefined && afterwards !== "delete" && afterwards !== "anonymize") {
    refuse(`${where}, policy: afterwards is "delete" or "anonymize".`);
  }
}

function checkIdentifier(name: unknown, field: string): string {
  if (typeof name !== "string" || name === "" || name.length > NAME_MAX || name.includes("\0")) {
    return refuse(`${field} must be a name of 1 to ${NAME_MAX} characters.`);
  }
  return name;
}

function refuse(message: string): never {
  throw new AmendsError("BAD_DEFINITION", message);
}
