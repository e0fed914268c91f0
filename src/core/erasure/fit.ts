/**
 * Checks the data map against the database's schema. All mismatches are found at once, before anything is written,
 * and each finding names the table and the column and says what to do. The result has everything that a plan needs:
 * the path to the subject, the surrogates, the retentions, and whether rows can be deleted.
 */
import { AmendsError } from "../errors.ts";
import type { DataMap, MappedTable, PersonalColumn, SurrogateValue } from "./data-map.ts";
import { anchorForm, retentionOf, type Retention } from "./retention.ts";
import type { ColumnType, ForeignKey, LiveColumn, LiveSchema, LiveTable } from "./schema.ts";
import { candidates, surrogateFor, type Checked, type Surrogate } from "./surrogate.ts";
import { findReach, type FoundReach, type Reach } from "./reach.ts";

export interface FittedColumn {
  readonly name: string;
  readonly category: string;
  readonly type: ColumnType;
  /** Undefined if the column is only deleted with its row. */
  readonly surrogate: Surrogate | undefined;
  readonly retention: Retention | undefined;
}

export interface FittedTable {
  readonly name: string;
  readonly sqlName: string;
  readonly reach: Reach;
  /** The foreign key through which rows reach their subject. */
  readonly way: ForeignKey | undefined;
  readonly columns: readonly FittedColumn[];
  /** True if every column is personal, a key or a foreign key, and no personal column survives the erasure. */
  readonly mayDelete: boolean;
}

export interface Fitted {
  readonly tables: readonly FittedTable[];
  readonly foreignKeys: readonly ForeignKey[];
}

/** Values that pass the CHECK constraints, by `table.column`: the database was asked (see `probes`). */
export type Accepted = ReadonlyMap<string, Checked>;

export interface Problem {
  readonly table: string;
  readonly column?: string;
  readonly problem: string;
}

export function fit(map: DataMap, schema: LiveSchema, accepted: Accepted): Fitted {
  const problems: Problem[] = [];
  const live = new Map(schema.tables.map((table) => [table.name, table]));
  for (const { name } of map.tables) {
    const found = live.get(name);
    if (!found)
      problems.push({
        table: name,
        problem: "there is no such table. Correct its name, or take it out of the map",
      });
    else if (!found.isTable)
      problems.push({
        table: name,
        problem: "it is not a table (a view?). Map the tables that it shows instead",
      });
  }
  refuse(problems);
  const reached = map.tables.map((mapped) => findReach(mapped, map, schema, live));
  refuse(reached.filter((found) => "problem" in found));
  const ways = reached as readonly FoundReach[];
  const foreignKeys = [...new Set([...schema.foreignKeys, ...ways.flatMap(({ way }) => way ?? [])])];
  const around = { dialect: schema.dialect, foreignKeys, accepted, problems };
  const tables = map.tables.map((mapped, at) =>
    fitTable(mapped, live.get(mapped.name) as LiveTable, ways[at] as FoundReach, around),
  );
  refuse(problems);
  return { tables, foreignKeys };
}

interface Surroundings {
  readonly dialect: LiveSchema["dialect"];
  readonly foreignKeys: readonly ForeignKey[];
  readonly accepted: Accepted;
  readonly problems: Problem[];
}

function fitTable(
  mapped: MappedTable,
  table: LiveTable,
  found: FoundReach,
  around: Surroundings,
): FittedTable {
  const { problems, foreignKeys } = around;
  const mayDelete = isDeletable(mapped, table, foreignKeys, found.columns);
  const keepsSome = Object.values(mapped.columns).some(({ strategy }) => strategy === "retain");
  const columns: FittedColumn[] = [];
  for (const [name, personal] of Object.entries(mapped.columns)) {
    const column = table.columns.find((one) => one.name === name);
    const complain = (problem: string): void =>
      void problems.push({ table: mapped.name, column: name, problem });
    if (!column) {
      complain("there is no such column. Correct its name, or take it out of the map");
      continue;
    }
    const fitted = fitColumn(name, personal, {
      mapped,
      table,
      column,
      onlyDeleted: mayDelete && !keepsSome,
      around,
    });
    if ("problem" in fitted) complain(fitted.problem);
    else columns.push(fitted);
  }
  return {
    name: mapped.name,
    sqlName: table.sqlName,
    reach: found.reach,
    way: found.way,
    columns,
    mayDelete,
  };
}

interface Place {
  readonly mapped: MappedTable;
  readonly table: LiveTable;
  readonly column: LiveColumn;
  /** Rows of this table never survive an erasure: no surrogate is needed. */
  readonly onlyDeleted: boolean;
  readonly around: Surroundings;
}

function fitColumn(
  name: string,
  personal: PersonalColumn,
  place: Place,
): FittedColumn | { readonly problem: string } {
  const { mapped, table, column, onlyDeleted, around } = place;
  const { category } = personal;
  if (column.generated) {
    return { problem: "is computed from other columns. Map those, it follows them" };
  }
  if (onlyDeleted) return { name, category, type: column.type, surrogate: undefined, retention: undefined };
  const key = around.foreignKeys.find(
    ({ child, columns, parent, references }) =>
      (child === mapped.name && columns.includes(name)) ||
      (parent === mapped.name && references.includes(name)),
  );
  if (key) {
    const role =
      key.child === mapped.name && key.columns.includes(name)
        ? "a foreign key"
        : `what ${key.child}.${key.columns.join(", ")} refers to`;
    return {
      problem: `is ${role}, so nothing else can take its place while the row stays. Only rows that are deleted may hold personal data there: take it out of the map, or move the data`,
    };
  }
  const surrogate = surrogateFor({
    type: column.type,
    isUnique: table.uniques.some((columns) => columns.includes(name)),
    declared: personal.surrogate,
    checked: around.accepted.get(`${mapped.name}.${name}`),
  });
  if ("problem" in surrogate) return surrogate;
  if (personal.strategy !== "retain")
    return { name, category, type: column.type, surrogate, retention: undefined };
  const form = anchorOf(mapped, table, personal.policy, around.dialect);
  if (typeof form !== "string") return form;
  return { name, category, type: column.type, surrogate, retention: retentionOf(name, personal, form) };
}

type AnchorOf = ReturnType<typeof anchorForm>;

/** If the anchor were erased, every retention that counts from it would end. */
function anchorOf(
  mapped: MappedTable,
  table: LiveTable,
  policy: { readonly anchor: string; readonly anchorUnit?: "ms" | "s"; readonly duration: unknown },
  dialect: LiveSchema["dialect"],
): Exclude<AnchorOf, undefined> | { readonly problem: string } {
  const { anchor, anchorUnit, duration } = policy;
  const column = table.columns.find(({ name }) => name === anchor);
  if (!column)
    return {
      problem: `is retained from ${anchor} on, and there is no such column in ${mapped.name}. Name the column with the instant from which the time counts`,
    };
  const own = mapped.columns[anchor];
  if (
    own &&
    !(own.strategy === "retain" && own.policy.anchor === anchor && own.policy.duration === duration)
  ) {
    return {
      problem: `is retained from ${anchor} on, which is personal itself and would be erased before. Retain ${anchor} by the same policy, or take it out of the map`,
    };
  }
  const form = anchorForm(column.type, dialect, anchorUnit);
  return (
    form ?? {
      problem: `is retained from ${anchor} on, which has the type ${column.type.sqlName || column.type.family} and holds no instant. Name a column with a date or a time`,
    }
  );
}

function isDeletable(
  mapped: MappedTable,
  table: LiveTable,
  foreignKeys: readonly ForeignKey[],
  way: readonly string[],
): boolean {
  if (mapped.keepRows) return false;
  const keys = new Set([
    ...table.primaryKey,
    ...way,
    ...foreignKeys.filter(({ child }) => child === mapped.name).flatMap(({ columns }) => columns),
  ]);
  return table.columns.every(({ name, generated }) => {
    const personal = mapped.columns[name];
    if (!personal) return generated || keys.has(name);
    if (personal.strategy !== "retain") return personal.strategy === "delete";
    return (personal.policy.afterwards ?? "delete") === "delete";
  });
}

export interface Probe {
  /** `table.column` */
  readonly id: string;
  readonly column: string;
  readonly type: ColumnType;
  readonly expressions: readonly string[];
  readonly candidates: readonly SurrogateValue[];
}

/**
 * The values to try on each CHECK constraint. A constraint over several columns cannot be tried: no value passes.
 */
export function probes(map: DataMap, schema: LiveSchema): readonly Probe[] {
  return map.tables.flatMap((mapped) => {
    const table = schema.tables.find(({ name }) => name === mapped.name);
    return Object.entries(mapped.columns).flatMap(([name, personal]) => {
      const column = table?.columns.find((one) => one.name === name);
      const checks = table?.checks.filter(({ columns }) => columns.includes(name)) ?? [];
      if (!column || checks.length === 0) return [];
      const expressions = checks.map(({ expression }) => expression);
      const lone = checks.every(({ columns }) => columns.length === 1);
      // A declared surrogate for a constraint over several columns is trusted.
      const tries = lone ? candidates(column.type, expressions, personal.surrogate) : [];
      const taken = lone || personal.surrogate === undefined ? tries : [personal.surrogate];
      return [
        {
          id: `${mapped.name}.${name}`,
          column: name,
          type: column.type,
          expressions: lone ? expressions : [],
          candidates: taken,
        },
      ];
    });
  });
}

function refuse(problems: readonly Problem[]): void {
  if (problems.length === 0) return;
  const lines = problems.map(
    ({ table, column, problem }) => `${column === undefined ? table : `${table}.${column}`}: ${problem}.`,
  );
  throw new AmendsError(
    "DATA_MAP_MISFIT",
    `The data map does not fit the database. Nothing was written.\n${lines.join("\n")}`,
    { problems },
  );
}
