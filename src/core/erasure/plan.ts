/**
 * The plan of an erasure as data: guards that must find no row, then operations in an order that satisfies every
 * foreign key, children first. Two rules always hold. A row is deleted only if it contains nothing but keys and
 * personal data. And no deleted row is referenced by a row that stays: conflicts that the schema shows are refused
 * here, a guard checks conflicts that depend on rows before anything is written. ON DELETE CASCADE therefore never
 * deletes a row: the plan deletes the rows first, or the plan is refused.
 */
import { AmendsError } from "../errors.ts";
import type { Fitted, FittedTable } from "./fit.ts";
import type { Reach } from "./reach.ts";
import type { Retention } from "./retention.ts";
import type { ForeignKey } from "./schema.ts";
import type { Surrogate } from "./surrogate.ts";
import type { ColumnType } from "./schema.ts";

/** Rows of one table that belong to the subject. */
export interface Rows {
  readonly table: string;
  readonly sqlName: string;
  readonly reach: Reach;
}

export interface DeleteRows extends Rows {
  readonly kind: "delete";
  /** The row stays while one of these retentions lasts. */
  readonly unless: readonly Retention[];
  /**
   * Self-referencing keys that the database checks row by row (RESTRICT): rows without references to them are
   * deleted first, then rows that are no longer referenced.
   */
  readonly among: readonly Pick<ForeignKey, "columns" | "references">[];
}

export interface Replacement {
  readonly column: string;
  readonly type: ColumnType;
  readonly surrogate: Surrogate;
  /** The value stays while this retention lasts. */
  readonly unless: Retention | undefined;
}

export interface AnonymizeRows extends Rows {
  readonly kind: "anonymize";
  readonly set: readonly Replacement[];
}

export type Operation = DeleteRows | AnonymizeRows;

/** Rows that stay must not refer to rows that are deleted. */
export interface Guard {
  readonly child: string;
  readonly childSqlName: string;
  readonly columns: readonly string[];
  /** The child's rows that are deleted before; undefined if none is deleted. */
  readonly also: DeleteRows | undefined;
  readonly parent: DeleteRows;
  readonly references: readonly string[];
  readonly cascades: boolean;
}

export interface Retained extends Rows {
  readonly retentions: readonly Retention[];
}

/** What an erasure does to the database: checks first, then changes in an order that satisfies every foreign key. */
export interface ErasurePlan {
  /** Checks that must find no row before anything is written. A guard that finds one refuses the erasure. */
  readonly guards: readonly Guard[];
  /** The deletions and the overwrites, in the order of their execution, children before parents. */
  readonly operations: readonly Operation[];
  /** The rows that hold data under a legal retention. */
  readonly retained: readonly Retained[];
  /**
   * Foreign keys to a mapped table that no path follows: rows that reach a subject only that way keep their data. A
   * table has one path.
   */
  readonly unfollowed: readonly UnfollowedKey[];
}

/** A foreign key to a mapped table that no path of the data map follows. */
export interface UnfollowedKey {
  /** The table with the foreign key. */
  readonly table: string;
  /** The columns of the foreign key. */
  readonly columns: readonly string[];
  /** The mapped table that they refer to. */
  readonly to: string;
  /** False if the table with the foreign key is not in the map at all. */
  readonly isMapped: boolean;
}

export function planErasure({ tables, foreignKeys }: Fitted): ErasurePlan {
  const deletes = new Map(
    tables
      .filter(({ mayDelete }) => mayDelete)
      .map((table) => [table.name, deleteOf(table, foreignKeys)] as const),
  );
  const guards = foreignKeys.flatMap((key) => guardOf(key, tables, deletes));
  const operations = inOrder(tables, foreignKeys, deletes).flatMap((table) => [
    ...[deletes.get(table.name)].filter((one) => one !== undefined),
    ...anonymizeOf(table),
  ]);
  const retained = tables.flatMap((table) => {
    const retentions = retentionsOf(table);
    return retentions.length === 0 ? [] : [{ ...rowsOf(table), retentions }];
  });
  return { guards, operations, retained, unfollowed: unfollowedOf(tables, foreignKeys) };
}

function unfollowedOf(
  tables: readonly FittedTable[],
  foreignKeys: readonly ForeignKey[],
): readonly UnfollowedKey[] {
  const mapped = new Map(tables.map((table) => [table.name, table]));
  return foreignKeys.flatMap(({ child, columns, parent, onDelete }): UnfollowedKey[] => {
    const [from, to] = [mapped.get(child), mapped.get(parent)];
    if (!to) return [];
    // Deleting the parent deletes these rows too, or is refused because of them.
    if (to.mayDelete && onDelete !== "set null" && onDelete !== "set default") return [];
    if (from && String(pathOf(from)) === String(columns)) return [];
    return [{ table: child, columns, to: parent, isMapped: from !== undefined }];
  });
}

/** The columns through which rows reach their subject. */
function pathOf({ reach }: FittedTable): readonly string[] {
  return reach.kind === "subject" ? [reach.column] : reach.columns;
}

function rowsOf({ name, sqlName, reach }: FittedTable): Rows {
  return { table: name, sqlName, reach };
}

function retentionsOf({ columns }: FittedTable): readonly Retention[] {
  return columns.flatMap(({ retention }) => retention ?? []);
}

function deleteOf(table: FittedTable, foreignKeys: readonly ForeignKey[]): DeleteRows {
  const { name } = table;
  const among = foreignKeys.filter(
    ({ child, parent, onDelete }) => child === name && parent === name && onDelete === "restrict",
  );
  return { kind: "delete", ...rowsOf(table), unless: retentionsOf(table), among };
}

/** In a row that stays, every personal value that is not retained is replaced. */
function anonymizeOf(table: FittedTable): readonly AnonymizeRows[] {
  const set = table.columns.flatMap(({ name, type, surrogate, retention }) =>
    surrogate === undefined ? [] : [{ column: name, type, surrogate, unless: retention }],
  );
  return set.length === 0 ? [] : [{ kind: "anonymize", ...rowsOf(table), set }];
}

function guardOf(
  key: ForeignKey,
  tables: readonly FittedTable[],
  deletes: ReadonlyMap<string, DeleteRows>,
): readonly Guard[] {
  const parent = deletes.get(key.parent);
  if (!parent) return [];
  const child = tables.find(({ name }) => name === key.child);
  const also = deletes.get(key.child);
  const isWay = child?.way === key;
  if (isWay && also && also.unless.length === 0) return []; // every row that refers to the parent is deleted with it
  if (isWay && !also) {
    throw refusal(
      key,
      `its rows stay, but they belong to rows of ${key.parent}, which are deleted. Let a column of ${key.parent} be anonymized, or declare \`keepRows\` for ${key.parent}`,
    );
  }
  const loosens = key.onDelete === "set null" || key.onDelete === "set default";
  if (loosens && !isWay && !key.required) {
    const kept = child?.columns.find(({ name, retention }) => retention && key.columns.includes(name));
    if (!kept) return [];
    throw refusal(
      key,
      `it is retained, and deleting rows of ${key.parent} would empty it (ON DELETE SET NULL)`,
    );
  }
  const { child: name, childSqlName, columns, references, onDelete } = key;
  return [{ child: name, childSqlName, columns, also, parent, references, cascades: onDelete === "cascade" }];
}

function refusal({ child, columns }: ForeignKey, why: string): AmendsError {
  return new AmendsError(
    "ERASURE_REFUSED",
    `The erasure is refused, and nothing was written. ${child}.${columns.join(", ")}: ${why}.`,
    { table: child, columns },
  );
}

/** The error for a guard that found a row. */
export function orphaned({ child, columns, parent, cascades }: Guard): AmendsError {
  const fate = cascades ? "would be deleted along with it (ON DELETE CASCADE)" : "would be left without it";
  return new AmendsError(
    "ERASURE_REFUSED",
    `The erasure is refused, and nothing was written. ${child}.${columns.join(", ")}: a row that has to stay refers to a row of ${parent.table} that is to be deleted, and ${fate}. Map ${child} so that its rows go too, or declare \`keepRows\` for ${parent.table}.`,
    { table: child, columns, parent: parent.table },
  );
}

/** Children before the tables that they refer to. A table without deleted rows has no constraint on its place. */
function inOrder(
  tables: readonly FittedTable[],
  foreignKeys: readonly ForeignKey[],
  deletes: ReadonlyMap<string, DeleteRows>,
): readonly FittedTable[] {
  const before = (table: FittedTable, rest: readonly FittedTable[]): ForeignKey | undefined =>
    foreignKeys.find(
      ({ child, parent }) =>
        parent === table.name &&
        child !== table.name &&
        deletes.has(parent) &&
        deletes.has(child) &&
        rest.some(({ name }) => name === child),
    );
  const ordered: FittedTable[] = [];
  for (let rest = [...tables]; rest.length > 0;) {
    const next = rest.find((table) => before(table, rest) === undefined);
    if (!next) {
      const circle = circleIn(rest, foreignKeys);
      const [key] = circle;
      throw new AmendsError(
        "DATA_MAP_MISFIT",
        `The erasure has no order: foreign keys go in a circle (${circle.map(({ child, columns }) => `${child}.${columns.join(", ")}`).join(" → ")} → ${key?.child ?? ""}), and rows of these tables are deleted. Declare \`keepRows\` for one of them.`,
        { tables: circle.map(({ child }) => child) },
      );
    }
    ordered.push(next);
    rest = rest.filter((table) => table !== next);
  }
  return ordered;
}

function circleIn(rest: readonly FittedTable[], foreignKeys: readonly ForeignKey[]): readonly ForeignKey[] {
  const names = new Set(rest.filter(({ mayDelete }) => mayDelete).map(({ name }) => name));
  const trail: ForeignKey[] = [];
  // Every remaining table is referenced by another remaining one, so following the references back finds a cycle.
  for (let at = rest.find(({ mayDelete }) => mayDelete)?.name; at !== undefined;) {
    const parent = at;
    const key = foreignKeys.find(
      (one) => one.parent === parent && one.child !== parent && names.has(one.child),
    );
    if (!key) return trail;
    const seen = trail.findIndex(({ parent: known }) => known === key.child);
    trail.push(key);
    if (seen >= 0) return trail.slice(seen).toReversed();
    if (key.child === trail[0]?.parent) return trail.toReversed();
    at = key.child;
  }
  return trail;
}
