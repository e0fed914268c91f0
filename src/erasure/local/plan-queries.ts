/**
 * A plan as statements on the application's tables. Names come from the database's schema and are quoted; the
 * subject's id and every value are parameters. Random surrogates differ for each row.
 */
import type { CorrectRows } from "../../core/erasure/rectification.ts";
import type {
  AnonymizeRows,
  DeleteRows,
  Guard,
  Operation,
  Replacement,
  Retained,
} from "../../core/erasure/plan.ts";
import type { Reach } from "../../core/erasure/reach.ts";
import type { Retention } from "../../core/erasure/retention.ts";
import { quoted, type ColumnType } from "../../core/erasure/schema.ts";
import type { SurrogateValue } from "../../core/erasure/data-map.ts";
import { UUID_MARK, type Surrogate } from "../../core/erasure/surrogate.ts";
import type { Dialect } from "../../storage/database.ts";
import { empty, join, raw, sql, type Sql } from "../../storage/sql.ts";
import { instant, int, optional } from "../../storage/column.ts";
import { projection, type Projection } from "../../storage/table.ts";
import { shifted } from "../queries.ts";

/** The rows of a subject that one retention keeps. */
export interface RetainedRows {
  readonly rows: number;
  /** When the retention of the first and of the last row ends; undefined if no row has an anchor. */
  readonly firstUntilMs: number | undefined;
  readonly lastUntilMs: number | undefined;
}

export interface RowCount {
  readonly rows: number;
}

/** A row that stays and refers to a row that is deleted, if there is one. */
export function guardStatement(dialect: Dialect, guard: Guard, subjectId: string): Sql {
  const { columns, parent, references, also } = guard;
  const going = sql`select ${names("p", references)} from ${raw(parent.sqlName)} as p where ${goingRows(dialect, "p", parent, subjectId)}`;
  const staying = also ? sql`and (${goingRows(dialect, "c", also, subjectId)}) is not true` : empty;
  return sql`select 1 as found from ${raw(guard.childSqlName)} as c
    where ${tuple("c", columns)} in (${going}) ${staying} limit 1`;
}

/** The statements of an operation; the last one answers with the number of rows, as `n`. */
export function operationStatements(
  dialect: Dialect,
  operation: Operation,
  subjectId: string,
): readonly Sql[] {
  return counted(
    dialect,
    operation.kind === "delete"
      ? sql`delete from ${raw(operation.sqlName)} as t where ${goingRows(dialect, "t", operation, subjectId)}`
      : anonymizing(dialect, operation, subjectId),
  );
}

/** Only rows that no row of their table refers to. To be repeated until there are none. */
export function leafStatements(dialect: Dialect, operation: DeleteRows, subjectId: string): readonly Sql[] {
  const { sqlName, among } = operation;
  const leaves = among.map(
    ({ columns, references }) =>
      sql`${tuple("t", references)} not in (select ${names("c", columns)} from ${raw(sqlName)} as c where ${join(
        columns.map((column) => sql`${own("c", column)} is not null`),
        " and ",
      )})`,
  );
  const going = goingRows(dialect, "t", operation, subjectId);
  return counted(dialect, sql`delete from ${raw(sqlName)} as t where ${join([going, ...leaves], " and ")}`);
}

function anonymizing(dialect: Dialect, { sqlName, reach, set }: AnonymizeRows, subjectId: string): Sql {
  const assignments = set.map(({ column, type, surrogate, unless }) => {
    const value = surrogateSql(dialect, type, surrogate, "t", column);
    const kept = unless
      ? sql`case when ${lasts(dialect, "t", unless)} then ${own("t", column)} else ${value} end`
      : value;
    return sql`${raw(quoted(column))} = ${kept}`;
  });
  // A row in which everything is retained is not updated.
  const open = set.every(({ unless }) => unless !== undefined)
    ? sql`and not (${join(
        set.map(({ unless }) => lasts(dialect, "t", unless as Retention)),
        " and ",
      )})`
    : empty;
  return sql`update ${raw(sqlName)} as t set ${join(assignments, ", ")} where ${reached("t", reach, subjectId)} ${open}`;
}

export function correctionStatements(
  dialect: Dialect,
  { sqlName, reach, set }: CorrectRows,
  subjectId: string,
): readonly Sql[] {
  const assignments = set.map(({ column, type, value, while: retention }) => {
    const right = constant(dialect, type, value);
    const kept = retention
      ? sql`case when ${lasts(dialect, "t", retention)} then ${right} else ${own("t", column)} end`
      : right;
    return sql`${raw(quoted(column))} = ${kept}`;
  });
  const lasting = set.flatMap((one) => (one.while ? [lasts(dialect, "t", one.while)] : []));
  const some = lasting.length > 0 ? sql`and (${join(lasting, " or ")})` : empty;
  return counted(
    dialect,
    sql`update ${raw(sqlName)} as t set ${join(assignments, ", ")} where ${reached("t", reach, subjectId)} ${some}`,
  );
}

/** The number of rows that each retention keeps, and until when: `rows_0`, `first_0`, `last_0`, and so on. */
export function retainedStatement(
  dialect: Dialect,
  { sqlName, reach, retentions }: Retained,
  subjectId: string,
): Sql {
  const fields = retentions.map((retention, index) => {
    const held = sql`filter (where ${lasts(dialect, "t", retention)})`;
    const until = dialect.epochMs(untilSql(dialect, "t", retention));
    const at = raw(String(index));
    return sql`count(*) ${held} as rows_${at}, min(${until}) ${held} as first_${at}, max(${until}) ${held} as last_${at}`;
  });
  return sql`select ${join(fields, ", ")} from ${raw(sqlName)} as t where ${reached("t", reach, subjectId)}`;
}

/** Reads the columns of the retention with this number. */
export function retainedBy(index: number): Projection<RetainedRows> {
  return projection({
    rows: int(`rows_${index}`),
    firstUntilMs: optional(instant(`first_${index}`)),
    lastUntilMs: optional(instant(`last_${index}`)),
  });
}

/** Reads the count of the column with this number. */
export function leftIn(index: number): Projection<RowCount> {
  return projection({ rows: int(`left_${index}`) });
}

/** What is left of a subject in one table: whole rows as `n`, or `left_0`, `left_1`, … per column. */
export function leftStatement(dialect: Dialect, operation: Operation, subjectId: string): Sql {
  if (operation.kind === "delete") {
    return sql`select count(*) as n from ${raw(operation.sqlName)} as t where ${goingRows(dialect, "t", operation, subjectId)}`;
  }
  const { sqlName, reach, set } = operation;
  const fields = set.map((replacement, index) => {
    const { column, unless } = replacement;
    const over = unless ? sql`and not ${lasts(dialect, "t", unless)}` : empty;
    return sql`count(*) filter (where ${own("t", column)} is not null ${over} and not ${isSurrogate(dialect, replacement)}) as left_${raw(String(index))}`;
  });
  return sql`select ${join(fields, ", ")} from ${raw(sqlName)} as t where ${reached("t", reach, subjectId)}`;
}

/** Rows of the subject without a lasting retention. */
function goingRows(dialect: Dialect, alias: string, { reach, unless }: DeleteRows, subjectId: string): Sql {
  return join(
    [
      reached(alias, reach, subjectId),
      ...unless.map((retention) => sql`not ${lasts(dialect, alias, retention)}`),
    ],
    " and ",
  );
}

function reached(alias: string, reach: Reach, subjectId: string): Sql {
  if (reach.kind === "subject") return sql`${own(alias, reach.column)} = ${subjectId}`;
  const up = `${alias}u`;
  return sql`${tuple(alias, reach.columns)} in (select ${names(up, reach.references)} from ${raw(reach.sqlName)} as ${raw(up)} where ${reached(up, reach.onward, subjectId)})`;
}

/** A row without an anchor is kept: its retention has not started. */
function lasts(dialect: Dialect, alias: string, retention: Retention): Sql {
  return sql`((${untilSql(dialect, alias, retention)} > ${dialect.now()}) is not false)`;
}

function untilSql(dialect: Dialect, alias: string, { anchor, form, span }: Retention): Sql {
  const column = own(alias, anchor);
  return shifted(dialect, anchorSql(column, form), span, "+");
}

function anchorSql(column: Sql, form: Retention["form"]): Sql {
  switch (form) {
    case "instant":
      return column;
    case "local":
      return sql`(${column}::timestamp at time zone 'UTC')`;
    case "epoch-ms":
      return sql`to_timestamp(${column} / 1000.0)`;
    case "epoch-s":
      return sql`to_timestamp(${column})`;
    case "loose-ms":
      return loose(column, 1);
    case "loose-s":
      return loose(column, 1000);
    default:
      return form satisfies never;
  }
}

function loose(column: Sql, unitMs: number): Sql {
  return sql`case typeof(${column}) when 'text' then cast(unixepoch(${column}, 'subsec') * 1000 as integer) else ${column} * ${raw(String(unitMs))} end`;
}

/** The database makes only the random part of a surrogate. */
function surrogateSql(
  dialect: Dialect,
  type: ColumnType,
  surrogate: Surrogate,
  alias: string,
  column: string,
): Sql {
  const isPostgres = dialect.name === "postgres";
  if (surrogate.kind === "value") return constant(dialect, type, surrogate.value);
  if (surrogate.kind === "loose") return looseSurrogate(own(alias, column), surrogate.text);
  const hex = isPostgres
    ? raw("replace(gen_random_uuid()::text, '-', '')")
    : raw("lower(hex(randomblob(16)))");
  const cast = (value: Sql): Sql => (isPostgres ? sql`cast(${value} as ${raw(type.sqlName)})` : value);
  switch (surrogate.form) {
    case "text":
      return cast(sql`${raw(`'${surrogate.mark}'`)} || substr(${hex}, 1, ${raw(String(surrogate.random))})`);
    case "uuid":
      return cast(sql`${raw(`'${UUID_MARK}'`)} || substr(${hex}, 1, 3) || '-' || substr(${hex}, 1, 12)`);
    case "integer":
      return isPostgres
        ? cast(raw("-1 - floor(random() * 9007199254740000)"))
        : raw("-1 - abs(random() % 9007199254740000)");
    case "bytes":
      return isPostgres
        ? sql`convert_to('erased-' || ${hex}, 'UTF8')`
        : sql`cast('erased-' || ${hex} as blob)`;
    default:
      return surrogate satisfies never;
  }
}

function looseSurrogate(column: Sql, text: string): Sql {
  return sql`case typeof(${column}) when 'integer' then 0 when 'real' then 0.0 when 'blob' then x'' else ${text} end`;
}

export function constant(dialect: Dialect, type: ColumnType, value: SurrogateValue): Sql {
  if (dialect.name === "postgres") return sql`cast(${String(value)}::text as ${raw(type.sqlName)})`;
  if (type.family === "bytes" && value === "") return raw("x''");
  return sql`${typeof value === "boolean" ? Number(value) : value}`;
}

function isSurrogate(dialect: Dialect, { column, type, surrogate }: Replacement): Sql {
  const value = own("t", column);
  const isPostgres = dialect.name === "postgres";
  const text = isPostgres ? sql`${value}::text` : value;
  if (surrogate.kind !== "distinct") {
    const expected = surrogateSql(dialect, type, surrogate, "t", column);
    // Not every PostgreSQL type has an equality operator; every type can be cast to text.
    return isPostgres ? sql`(${text} = (${expected})::text)` : sql`(${value} is ${expected})`;
  }
  switch (surrogate.form) {
    case "text":
      return begins(text, surrogate.mark);
    case "uuid":
      return begins(text, UUID_MARK);
    case "integer":
      return sql`(${value} < 0)`;
    case "bytes":
      return isPostgres
        ? sql`(substr(${value}, 1, 7) = convert_to('erased-', 'UTF8'))`
        : sql`(substr(${value}, 1, 7) = cast('erased-' as blob))`;
    default:
      return surrogate satisfies never;
  }
}

function begins(text: Sql, mark: string): Sql {
  return sql`(substr(${text}, 1, ${raw(String(mark.length))}) = ${raw(`'${mark}'`)})`;
}

/** The number of rows that a statement changed or found. */
export const COUNTED: Projection<RowCount> = projection({ rows: int("n") });

/** The number of changed rows: PostgreSQL counts them in the statement, SQLite afterwards. */
function counted(dialect: Dialect, statement: Sql): readonly Sql[] {
  return dialect.pick({
    postgres: [sql`with done as (${statement} returning 1) select count(*) as n from done`],
    sqlite: [statement, raw("select changes() as n")],
  });
}

function own(alias: string, column: string): Sql {
  return raw(`${alias}.${quoted(column)}`);
}

function names(alias: string, columns: readonly string[]): Sql {
  return raw(columns.map((column) => `${alias}.${quoted(column)}`).join(", "));
}

function tuple(alias: string, columns: readonly string[]): Sql {
  return columns.length === 1 ? names(alias, columns) : sql`(${names(alias, columns)})`;
}
