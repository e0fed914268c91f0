import { Amends, err, ok } from "amends";
import { consumer, event, eventSaga, handler, step, type DeliveredOf, type EventValue } from "amends/events";
import { transaction, sqlite, type SqliteHandle } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

class Srn {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}
const srn = z.string().transform((text) => new Srn(text));

const Registered = event("Registered", z.object({ srn: z.string(), title: z.string().default("") }));
const SchemaCreated = event("SchemaCreated", z.object({ srn: z.string(), fields: z.number() }));
const SchemaFailed = event("SchemaFailed", z.object({ srn: z.string() }));
const TablesCreated = event("TablesCreated", z.object({ srn: z.string() }));
const TablesFailed = event("TablesFailed", z.object({ srn: z.string() }));
const UndoSchema = event("UndoSchema", z.object({ srn: z.string() }));
const UndoMore = event("UndoMore", z.object({ srn: z.string(), why: z.string() }));
const Ready = event("Ready", z.object({ srn: z.string() }));
const Nameless = event("Nameless", z.object({ other: z.string() }));
const Numbered = event("Numbered", z.object({ srn: z.number() }));

const createSchema = handler("CreateSchema", {
  on: Registered,
  ok: SchemaCreated,
  err: SchemaFailed,
  handle: async (e) =>
    e.title === "" ? err(SchemaFailed({ srn: e.srn })) : ok(SchemaCreated({ srn: e.srn, fields: 3 })),
});
const createTables = handler("CreateTables", {
  on: SchemaCreated,
  ok: TablesCreated,
  err: TablesFailed,
  handle: (e) => ok(TablesCreated({ srn: e.srn })),
});

const ends = {
  onCompleted: (id: string) => Ready({ srn: id }),
  onFailed: (id: string) => Ready({ srn: id }),
};

it("[F-02] an event is made with what its schema takes, and has what its schema gives", () => {
  expectTypeOf(Registered({ srn: "c" })).toEqualTypeOf<
    EventValue<"Registered", { srn: string; title: string }>
  >();
  expectTypeOf<DeliveredOf<typeof Registered>["time"]>().toEqualTypeOf<Date>();
  // @ts-expect-error a srn is asked for
  void Registered({ title: "t" });
  // @ts-expect-error a count is a number
  void SchemaCreated({ srn: "c", fields: "3" });
  // @ts-expect-error `id` belongs to the event itself
  void event("X", z.object({ id: z.string() }));
  // @ts-expect-error a Date does not survive JSON
  void event("X", z.object({ at: z.date() }));
  void event("X", z.object({ at: z.iso.datetime().transform((text) => new Date(text)) }));
});

it("[F-01] a handler returns ok of its success event or err of its failure event, and nothing else compiles", () => {
  expectTypeOf(createSchema.ok).toEqualTypeOf<typeof SchemaCreated>();
  const base = { on: Registered, ok: SchemaCreated, err: SchemaFailed };
  void handler("h", { ...base, handle: (e) => ok(SchemaCreated({ srn: e.srn, fields: 1 })) });
  // @ts-expect-error another event
  void handler("h", { ...base, handle: (e) => ok(TablesCreated({ srn: e.srn })) });
  // @ts-expect-error the failure event in ok
  void handler("h", { ...base, handle: (e) => ok(SchemaFailed({ srn: e.srn })) });
  // @ts-expect-error the success event in err
  void handler("h", { ...base, handle: (e) => err(SchemaCreated({ srn: e.srn, fields: 1 })) });
  // @ts-expect-error the event without ok
  void handler("h", { ...base, handle: (e) => SchemaCreated({ srn: e.srn, fields: 1 }) });
  // @ts-expect-error nothing
  void handler("h", { ...base, handle: () => undefined });
  // @ts-expect-error a failure event must be declared
  void handler("h", {
    on: Registered,
    ok: SchemaCreated,
    handle: () => ok(SchemaCreated({ srn: "", fields: 1 })),
  });
});

it("[F-07] `tx` is there only for a handler that asked for a transaction", () => {
  const base = { on: Registered, ok: SchemaCreated, err: SchemaFailed };
  const done = ok(SchemaCreated({ srn: "c", fields: 1 }));
  void handler("h", { ...base, handle: (_e, { tx }) => (expectTypeOf(tx).toEqualTypeOf<undefined>(), done) });
  void handler("h", {
    ...base,
    transaction,
    handle: (_e, { tx }) => (expectTypeOf(tx).toEqualTypeOf<SqliteHandle>(), done),
  });
});

it("[F-20] a consumer takes its event and gives nothing, and is no step of a saga", () => {
  const audit = consumer("audit", {
    on: Registered,
    handle: (e) => {
      expectTypeOf(e.title).toEqualTypeOf<string>();
    },
  });
  void new Amends({ database: sqlite("x.db"), events: [audit] });
  void consumer("book", {
    on: Registered,
    transaction,
    handle: (_, { tx }) => void expectTypeOf(tx).toEqualTypeOf<SqliteHandle>(),
  });
  // @ts-expect-error a consumer has no events to answer with
  void consumer("audit", { on: Registered, ok: SchemaCreated, handle: () => undefined });
  // @ts-expect-error nothing would come of an answer
  void consumer("audit", { on: Registered, handle: (e) => ok(SchemaCreated({ srn: e.srn, fields: 1 })) });
  // @ts-expect-error a step needs a handler, which answers
  void step("audit", audit);
});

it("[F-03] step n + 1 takes what step n gives, or the saga does not compile", () => {
  expectTypeOf(createTables.on.type).toEqualTypeOf(createSchema.ok.type);
  void eventSaga("init", {
    trigger: Registered,
    correlate: "srn",
    steps: [step("create_schema", createSchema, { compensation: UndoSchema }), step("tables", createTables)],
    ...ends,
  });
  void eventSaga("init", {
    trigger: Registered,
    correlate: "srn",
    // @ts-expect-error step tables takes SchemaCreated, but the trigger gives Registered
    steps: [step("tables", createTables)],
    ...ends,
  });
  void eventSaga("init", {
    trigger: Registered,
    correlate: "srn",
    // @ts-expect-error step again takes Registered, but step create_schema gives SchemaCreated
    steps: [step("create_schema", createSchema), step("again", createSchema)],
    ...ends,
  });
  // @ts-expect-error a saga has at least one step
  void eventSaga("init", { trigger: Registered, correlate: "srn", steps: [], ...ends });
});

it("[F-03] every event has the field by which the saga correlates, of the trigger's type", () => {
  expectTypeOf(Registered.type).toEqualTypeOf<"Registered">();
  void eventSaga("init", {
    trigger: Registered,
    // @ts-expect-error the trigger has no such field
    correlate: "sku",
    // @ts-expect-error so no step can be checked
    steps: [step("s", createSchema)],
    ...ends,
  });
  const toNameless = handler("n", {
    on: Registered,
    ok: Nameless,
    err: SchemaFailed,
    handle: () => ok(Nameless({ other: "" })),
  });
  // @ts-expect-error Nameless has no field srn
  void eventSaga("init", { trigger: Registered, correlate: "srn", steps: [step("s", toNameless)], ...ends });
  const toNumbered = handler("n", {
    on: Registered,
    ok: SchemaCreated,
    err: Numbered,
    handle: () => err(Numbered({ srn: 7 })),
  });
  // @ts-expect-error the field srn of Numbered is of another type
  void eventSaga("init", { trigger: Registered, correlate: "srn", steps: [step("s", toNumbered)], ...ends });
});

it("[F-03] a command carries the field, too, and onCompensate gets the id as it is", () => {
  expectTypeOf(UndoSchema.type).toEqualTypeOf<"UndoSchema">();
  const undone = step("create_schema", createSchema, { compensation: UndoMore });
  void eventSaga("init", {
    trigger: Registered,
    correlate: "srn",
    steps: [undone],
    onCompensate: (id) => UndoMore({ srn: id, why: "failed" }),
    ...ends,
  });
  void eventSaga("init", {
    trigger: Registered,
    correlate: "srn",
    // @ts-expect-error Nameless has no field srn
    steps: [step("s", createSchema, { compensation: Nameless })],
    ...ends,
  });
});

it("[F-03] an id that is no text needs to say how it is kept, and factories get it as it is", () => {
  expectTypeOf(srn).toHaveProperty("parse");
  const Typed = event("Typed", z.object({ srn }));
  const Worked = event("Worked", z.object({ srn }));
  const Refused = event("Refused", z.object({ srn }));
  const work = handler("work", {
    on: Typed,
    ok: Worked,
    err: Refused,
    handle: (e) => ok(Worked({ srn: e.srn.text })),
  });
  const options = {
    trigger: Typed,
    correlate: "srn",
    steps: [step("work", work)],
    onCompleted: (id: Srn) => Worked({ srn: id.text }),
    onFailed: (id: Srn) => Refused({ srn: id.text }),
  } as const;
  void eventSaga("typed", {
    ...options,
    id: { serialize: (id) => id.text, deserialize: (raw) => new Srn(raw) },
  });
  // @ts-expect-error how is a Srn kept?
  void eventSaga("typed", options);
  void eventSaga("typed", {
    ...options,
    // @ts-expect-error a factory gets a Srn, not a text
    onCompleted: (id: string) => Ready({ srn: id }),
    id: { serialize: (one: Srn) => one.text, deserialize: (raw) => new Srn(raw) },
  });
});

it("[F-05] events are published through the database's own kind of transaction", () => {
  expectTypeOf(Ready.type).toEqualTypeOf<"Ready">();
  const amends = new Amends({ database: sqlite(":memory:"), events: [createSchema, createTables] });
  void amends.events.publish(Registered({ srn: "c" }));
  void amends.events.publish([Registered({ srn: "c" })], { tx: null as unknown as SqliteHandle });
  // @ts-expect-error that is no transaction
  void amends.events.publish(Registered({ srn: "c" }), { tx: "tx" });
  // @ts-expect-error that is no event
  void amends.events.publish({ srn: "c" });
  // @ts-expect-error handlers are made by `handler`
  void new Amends({ database: sqlite(":memory:"), events: [{ name: "h" }] });
});
