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
/**
 * What an erasure does with a personal column. `delete`: deletes the row if every column that is not a key is to be
 * deleted, otherwise overwrites the column. `anonymize`: overwrites the column. `retain`: keeps the value for as long
 * as the law demands.
 */
export type Strategy = (typeof STRATEGIES)[number];

/** A value that takes the place of erased personal data. */
export type SurrogateValue = string | number | boolean;

/** A legal duty to keep data despite a request for erasure, and for how long. */
export interface LegalRetention {
  /** The reason in plain words: "invoices are kept for the tax office". At most 500 characters. */
  readonly reason: string;
  /** The law that demands it: "§ 147 AO", "Art. 6(1)(c) GDPR". At most 500 characters. */
  readonly legalBasis: string;
  /** How long the data is kept, counted from the anchor: "10y", "6mo", "30d". */
  readonly duration: Period;
  /** The column of the same table that holds the instant from which the duration counts. */
  readonly anchor: string;
  /** The unit of a numeric anchor, which counts from 1970-01-01 UTC. Default: "ms". */
  readonly anchorUnit?: "ms" | "s";
  /** What an erasure does once the duration is over. Default: "delete". */
  readonly afterwards?: "delete" | "anonymize";
}

interface Personal<Category extends string> {
  /** The kind of personal data, such as `email` or `name`. A rectification refers to it. */
  readonly category: Category;
  /** The value of the column after its erasure, if the row stays. Default: a value that fits the column's type. */
  readonly surrogate?: SurrogateValue;
}

/** A personal column that an erasure clears. */
export interface ErasedColumn<Category extends string = string> extends Personal<Category> {
  /**
   * `delete` deletes the row if every column that is not a key is to be deleted; otherwise it overwrites the column, as
   * `anonymize` does.
   */
  readonly strategy: "delete" | "anonymize";
  /** Only a retained column has a policy. */
  readonly policy?: never;
}

/** A personal column that the law demands to be kept for a while. */
export interface RetainedColumn<Category extends string = string> extends Personal<Category> {
  /** Keeps the value until the policy's duration is over. */
  readonly strategy: "retain";
  /** Why and for how long the value is kept. */
  readonly policy: LegalRetention;
}

/** A column that holds personal data, and what an erasure does with it. */
export type PersonalColumn<Category extends string = string> =
  | ErasedColumn<Category>
  | RetainedColumn<Category>;

/** The foreign key over which the rows of a table reach their subject. */
export interface ViaDeclaration<Table extends string = string> {
  /** The mapped table that the foreign key refers to. */
  readonly table: Table;
  /** The columns of the foreign key in this table, in the order of the key. */
  readonly columns: string | readonly string[];
  /** The columns that they refer to. Needed only if the database has no such foreign key. */
  readonly references?: string | readonly string[];
}

interface AnyTable<Category extends string> {
  /** The personal columns, by name. A table without any only connects other tables to the subject. */
  readonly columns?: Readonly<Record<string, PersonalColumn<Category>>>;
  /** Never deletes a row of this table: its personal columns are overwritten instead. Default: false. */
  readonly keepRows?: boolean;
}

interface OwnTable<Category extends string> extends AnyTable<Category> {
  /** The column that holds the subject's id. */
  readonly subject: string;
  readonly via?: never;
}

interface ReachingTable<Table extends string, Category extends string> extends AnyTable<Category> {
  readonly subject?: never;
  /**
   * The mapped table through which a row reaches its subject. Its name is enough if exactly one foreign key leads
   * there.
   */
  readonly via: Table | ViaDeclaration<Table>;
}

/**
 * One table of a data map. `subject` names the column with the subject's id; `via` names the table through which a row
 * reaches its subject.
 */
export type TableDeclaration<Table extends string = string, Category extends string = string> =
  | OwnTable<Category>
  | ReachingTable<Table, Category>;

/** A data map as JSON: table declarations by table name. */
export type DataMapJson = Readonly<Record<string, TableDeclaration>>;

/** One table of a data map, as `dataMap` has read it. */
export interface MappedTable {
  /** The name of the table. */
  readonly name: string;
  /** How a row of the table is reached from its subject. */
  readonly reach: MappedReach;
  /** The columns with personal data, by name. */
  readonly columns: Readonly<Record<string, PersonalColumn>>;
  /** True if an erasure overwrites the rows of the table and never deletes them. */
  readonly keepRows: boolean;
}

/** How a row is reached from its subject: by its own column, or through a row of another table. */
export type MappedReach =
  | { readonly kind: "subject"; readonly column: string }
  | {
      readonly kind: "via";
      readonly table: string;
      readonly columns: readonly string[] | undefined;
      readonly references: readonly string[] | undefined;
    };

/** Where an application keeps personal data, made by `dataMap` or `dataMapFromJson`. */
export interface DataMap<Category extends string = string> {
  /** The declared tables. */
  readonly tables: readonly MappedTable[];
  /** Every category of personal data in the map, each once. */
  readonly categories: readonly Category[];
  /** The map as JSON. `dataMapFromJson` reads it. */
  toJSON(): DataMapJson;
}

/** Declares where an application keeps personal data. Throws `BAD_DEFINITION` if the map contradicts itself. */
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

/** Reads a data map from parsed JSON. Throws `BAD_DEFINITION` if the map is not valid. */
export function dataMapFromJson(json: unknown): DataMap {
  return dataMap(json as DataMapJson);
}

function structuredJson(tables: DataMapJson): DataMapJson {
  return JSON.parse(JSON.stringify(tables)) as DataMapJson;
}

/** Also accepts a map that another copy of this library made. */
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
      `The data map, ${name}.${both}: rows reach their subject through it, so it cannot be a personal column. The audit trail keeps the subject's id: choose an id that is not personal data.`,
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

/** Every path must end at a table with a `subject` column. */
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
