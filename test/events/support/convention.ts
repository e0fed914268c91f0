/** The saga of the rules: a convention gets its schema, then its tables. What each handler does is set per test. */
import { err, ok } from "amends";
import { event, eventSaga, handler, step, type SagaDef } from "amends/events";
import { z } from "zod";

const srn = z.string();

export const Registered = event("ConventionRegistered", z.object({ srn, title: z.string().default("t") }));
export const SchemaCreated = event("SchemaCreated", z.object({ srn, fields: z.number() }));
export const SchemaFailed = event("SchemaCreationFailed", z.object({ srn, why: z.string() }));
export const TablesCreated = event("FeatureTablesCreated", z.object({ srn, tables: z.number() }));
export const TablesFailed = event("FeatureTablesFailed", z.object({ srn, hook: z.string() }));
export const UndoSchema = event("CompensateSchema", z.object({ srn }));
export const UndoTables = event("CompensateFeatureTables", z.object({ srn }));
export const SchemaUndone = event("SchemaCompensated", z.object({ srn }));
export const TablesUndone = event("TablesCompensated", z.object({ srn }));
export const UndoFailed = event("CompensationFailed", z.object({ srn }));
export const Ready = event("ConventionReady", z.object({ srn }));
export const InitFailed = event("ConventionInitFailed", z.object({ srn, error: z.string() }));

type Will =
  | "ok"
  | "err"
  | "throw"
  | ((context: { signal: AbortSignal; attempt: number; key: string }) => unknown);

export interface Wills {
  readonly schema?: Will;
  readonly tables?: Will;
  readonly undoSchema?: Will;
  readonly undoTables?: Will;
}

export interface Convention {
  readonly saga: SagaDef;
  /** The handlers that undo; without them, commands are sent and not waited for. */
  readonly undoers: readonly ReturnType<typeof handler>[];
  /** Every call of a handler, in order. */
  readonly calls: string[];
  wills: Wills;
}

const retry = { attempts: 2, base: "1s", cap: "1s" } as const;

export function convention(first: Wills = {}, deadlines: Deadlines = {}): Convention {
  const calls: string[] = [];
  const at = async (name: keyof Wills, context: Parameters<Exclude<Will, string>>[0]): Promise<boolean> => {
    calls.push(`${name} ${context.attempt}`);
    const will = made.wills[name] ?? "ok";
    if (will === "throw") throw new Error(`${name} is in trouble`);
    const answer = typeof will === "function" ? await will(context) : will;
    return answer !== "err";
  };
  const createSchema = handler("CreateSchema", {
    on: Registered,
    ok: SchemaCreated,
    err: SchemaFailed,
    retry,
    handle: async (e, context) =>
      (await at("schema", context))
        ? ok(SchemaCreated({ srn: e.srn, fields: 3 }))
        : err(SchemaFailed({ srn: e.srn, why: "no" })),
  });
  const createTables = handler("CreateTables", {
    on: SchemaCreated,
    ok: TablesCreated,
    err: TablesFailed,
    retry,
    handle: async (e, context) =>
      (await at("tables", context))
        ? ok(TablesCreated({ srn: e.srn, tables: e.fields }))
        : err(TablesFailed({ srn: e.srn, hook: "h" })),
  });
  const undoSchema = handler("UndoSchema", {
    on: UndoSchema,
    ok: SchemaUndone,
    err: UndoFailed,
    retry,
    handle: async (e, context) =>
      (await at("undoSchema", context)) ? ok(SchemaUndone({ srn: e.srn })) : err(UndoFailed({ srn: e.srn })),
  });
  const undoTables = handler("UndoTables", {
    on: UndoTables,
    ok: TablesUndone,
    err: UndoFailed,
    retry,
    handle: async (e, context) =>
      (await at("undoTables", context)) ? ok(TablesUndone({ srn: e.srn })) : err(UndoFailed({ srn: e.srn })),
  });
  const saga = eventSaga("convention_init", {
    trigger: Registered,
    correlate: "srn",
    ...(deadlines.saga !== undefined && { deadline: deadlines.saga }),
    steps: [
      step("create_schema", createSchema, {
        compensation: UndoSchema,
        ...(deadlines.schema !== undefined && { deadline: deadlines.schema }),
      }),
      step("create_feature_tables", createTables, {
        compensation: UndoTables,
        ...(deadlines.tables !== undefined && { deadline: deadlines.tables }),
      }),
    ],
    onCompleted: (id) => Ready({ srn: id }),
    onFailed: (id, failure) => InitFailed({ srn: id, error: `${failure.step}: ${failure.error}` }),
  });
  const made: Convention = { saga, undoers: [undoSchema, undoTables], calls, wills: first };
  return made;
}

export interface Deadlines {
  readonly saga?: number;
  readonly schema?: number;
  readonly tables?: number;
}
