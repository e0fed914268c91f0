/**
 * Several writes of one transaction, each of which may depend on those before it. On PostgreSQL they are one statement:
 * each stage is a common table expression, sees by name what earlier stages returned (though not what they wrote, as all
 * look at one snapshot), and the statement answers once for all. On SQLite the stages run in turn, see what earlier ones
 * wrote, and each answers for itself: what differs is written with `dialect.pick`.
 */
import type { Dialect } from "../database.ts";
import { empty, join, literals, raw, sql, type Sql } from "../sql.ts";

export interface Stage {
  readonly name: string;
  readonly statement: Sql;
  /**
   * The expected number of rows, as a number or as an expression over earlier stages. Undefined: its rows are
   * neither counted nor returned.
   */
  readonly expectRows?: number | Sql | undefined;
  /**
   * The reaction to another number of rows on PostgreSQL. `answer`: the caller gets the rows of every such stage.
   * `refuse`: nothing of the statement is written, and its error is a refusal (checked-write.ts). Default:
   * `answer`.
   */
  readonly otherwise?: "answer" | "refuse";
  /** On PostgreSQL: which of its rows are counted and returned. Default: all. */
  readonly counted?: Sql | undefined;
  /** On PostgreSQL: the columns of the answer, computed only where rows are returned. Default: as they are. */
  readonly answer?: Sql | undefined;
}

/** The value of `stage` in the single answer row of a statement whose stages all had the expected rows. */
export const ALL_EXPECTED = "all expected";

/**
 * The statements that run these stages. `columns` are those of every stage that answers. On PostgreSQL the answer is one
 * row with the stage `ALL_EXPECTED`, and the instant in `at` if that is one of the columns; or else the stages' rows.
 */
export function statementsOf(
  dialect: Dialect,
  stages: readonly Stage[],
  columns: readonly string[],
): readonly Sql[] {
  if (dialect.name === "sqlite") return stages.map(({ statement }) => statement);
  const named = join(
    stages.map(({ name, statement }) => sql`${raw(name)} as (${statement})`),
    ", ",
  );
  const counted = stages.filter(({ expectRows }) => expectRows !== undefined);
  if (counted.length === 0) return [sql`with ${named} select 1 where false`];
  const sure = counted.filter(({ otherwise }) => otherwise === "refuse");
  const answering = counted.filter(({ otherwise }) => otherwise !== "refuse");
  const verdict =
    sure.length === 0
      ? asExpected(answering)
      : sql`case when ${asExpected(sure)} then ${asExpected(answering)} else ${refuse(dialect)} end`;
  const summary = columns.map((column) => {
    if (column === "stage") return sql`${literals([ALL_EXPECTED])} as stage`;
    return column === "at" ? sql`${dialect.epochMs(dialect.now())} as at` : raw(`null as ${column}`);
  });
  const details = answering.map((stage) => rowsOf(stage, columns));
  return [
    sql`with ${named}, verdict as materialized (select ${verdict} as holds)
      select ${join(summary)} from verdict where holds${details.length > 0 ? join(details, "") : empty}`,
  ];
}

/** Fails the statement on PostgreSQL, with an error that `dialect.violation` calls a refusal. */
export function refuse(dialect: Dialect): Sql {
  return sql`${dialect.table("refuse")}()`;
}

function asExpected(stages: readonly Stage[]): Sql {
  if (stages.length === 0) return raw("true");
  const counts = stages.map(
    ({ name, expectRows, counted }) =>
      sql`(select count(*) from ${raw(name)}${counted ? sql` where ${counted}` : empty}) = ${expectRows}::int`,
  );
  return join(counts, " and ");
}

function rowsOf({ name, counted, answer }: Stage, columns: readonly string[]): Sql {
  return sql` union all select ${answer ?? raw(columns.join(", "))} from ${raw(name)}
    where not (select holds from verdict)${counted ? sql` and ${counted}` : empty}`;
}
