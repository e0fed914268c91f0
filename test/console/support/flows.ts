/** Event flows to look at: one that completes, one that fails, one that stalls, and an event that was given up. */
import { err, ok, type Amends } from "amends";
import { event, eventSaga, handler, step } from "amends/events";
import { z } from "zod";
import type { TestDatabase } from "../../support/databases.ts";

const base = z.object({ srn: z.string(), secret: z.string().optional() });
type End = "completed" | "failed" | "stalled";

const Registered = event("Registered", base.extend({ end: z.enum(["completed", "failed", "stalled"]) }));
const SchemaMade = event("SchemaMade", base.extend({ end: z.string() }));
const SchemaFailed = event("SchemaFailed", base);
const TablesMade = event("TablesMade", base);
const TablesFailed = event("TablesFailed", base);
const DropSchema = event("DropSchema", z.object({ srn: z.string() }));
const SchemaDropped = event("SchemaDropped", z.object({ srn: z.string() }));
const DropFailed = event("DropFailed", z.object({ srn: z.string() }));
const Ready = event("Ready", z.object({ srn: z.string() }));
const Failed = event("Failed", z.object({ srn: z.string() }));
const Noticed = event("Noticed", base);
const NoticeTaken = event("NoticeTaken", z.object({}));
const NoticeRefused = event("NoticeRefused", z.object({}));

/** Whatever is set to true here works from then on. */
export interface Mended {
  undo: boolean;
  notice: boolean;
}

export function flows(mended: Mended) {
  const once = { attempts: 1, base: "1s", cap: "1s" } as const;
  const makeSchema = handler("MakeSchema", {
    on: Registered,
    ok: SchemaMade,
    err: SchemaFailed,
    handle: (e) =>
      ok(SchemaMade({ srn: e.srn, end: e.end, ...(e.secret !== undefined && { secret: e.secret }) })),
  });
  const makeTables = handler("MakeTables", {
    on: SchemaMade,
    ok: TablesMade,
    err: TablesFailed,
    handle: (e) =>
      e.end === "completed"
        ? ok(TablesMade({ srn: e.srn }))
        : err(TablesFailed({ srn: e.srn, ...(e.secret !== undefined && { secret: e.secret }) })),
  });
  const dropSchema = handler("DropSchemaNow", {
    on: DropSchema,
    ok: SchemaDropped,
    err: DropFailed,
    retry: once,
    handle: (e) => {
      if (e.srn.startsWith("stalled") && !mended.undo) throw new RangeError("the schema is in use");
      return ok(SchemaDropped({ srn: e.srn }));
    },
  });
  const takeNotice = handler("TakeNotice", {
    on: Noticed,
    ok: NoticeTaken,
    err: NoticeRefused,
    retry: once,
    handle: () => {
      if (!mended.notice) throw new RangeError("nobody listens");
      return ok(NoticeTaken({}));
    },
  });
  const saga = eventSaga("convention_init", {
    trigger: Registered,
    correlate: "srn",
    steps: [
      step("create_schema", makeSchema, { compensation: DropSchema }),
      step("create_tables", makeTables),
    ],
    onCompleted: (srn) => Ready({ srn }),
    onFailed: (srn) => Failed({ srn }),
  });
  return { saga, handlers: [dropSchema, takeNotice] };
}

export interface FlowScene {
  readonly amends: Amends;
  readonly mended: Mended;
  /** Runs everything that is due until nothing is. */
  settle(): Promise<void>;
  /** Begins a run that ends so; its process is named after that. Returns the run's id. */
  run(end: End, name?: string, secret?: string): Promise<string>;
  /** Begins a run, and leaves it to whoever comes. */
  publish(name: string): Promise<void>;
  /** An event that its handler gives up. Returns the id of its delivery. */
  giveUp(secret?: string): Promise<string>;
}

export async function openFlows(
  database: TestDatabase,
  options: Parameters<TestDatabase["amends"]>[0] = {},
): Promise<FlowScene> {
  const mended: Mended = { undo: false, notice: false };
  const { saga, handlers } = flows(mended);
  return sceneOf(await database.amends({ ...options, events: [saga, ...handlers] }), mended);
}

/** On an Amends that knows `flows(mended)`. */
export function sceneOf(amends: Amends, mended: Mended): FlowScene {
  const worker = amends.worker();
  const settle = async (): Promise<void> => {
    while ((await worker.runOnce()) > 0);
  };
  return {
    amends,
    mended,
    settle,
    async run(end, name = `${end}-1`, secret) {
      const given = { srn: name, end, ...(secret !== undefined && { secret }) };
      const [begun] = await amends.events.publish(Registered(given));
      await settle();
      return begun?.id ?? "";
    },
    async publish(srn) {
      await amends.events.publish(Registered({ srn, end: "completed" }));
    },
    async giveUp(secret) {
      await amends.events.publish(Noticed({ srn: "n-1", ...(secret !== undefined && { secret }) }));
      await settle();
      const { items } = await amends.attention.list();
      return items.find(({ kind }) => kind === "abandoned-event")?.id ?? "";
    },
  };
}
