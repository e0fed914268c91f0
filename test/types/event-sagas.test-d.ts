import { Amends, Terminal, err, ok, saga } from "amends";
import {
  all,
  event,
  eventSaga,
  handler,
  oneOf,
  sagaHandler,
  step,
  type FlowFailure,
  type FlowStatus,
  type FlowView,
} from "amends/events";
import { sqlite } from "amends/sqlite";
import { expectTypeOf, it } from "vitest";
import { z } from "zod";

const srn = z.string();
const ConventionRegistered = event("ConventionRegistered", z.object({ conventionSrn: srn, title: srn }));
const SchemaCreated = event("SchemaCreated", z.object({ conventionSrn: srn, fieldCount: z.number() }));
const SchemaCreationFailed = event("SchemaCreationFailed", z.object({ conventionSrn: srn }));
const FeatureTablesCreated = event("FeatureTablesCreated", z.object({ conventionSrn: srn }));
const FeatureTablesFailed = event("FeatureTablesFailed", z.object({ conventionSrn: srn }));
const CompensateSchema = event("CompensateSchema", z.object({ conventionSrn: srn }));
const CompensateFeatureTables = event("CompensateFeatureTables", z.object({ conventionSrn: srn }));
const ConventionReady = event("ConventionReady", z.object({ conventionSrn: srn }));
const ConventionInitFailed = event("ConventionInitFailed", z.object({ conventionSrn: srn, error: srn }));

const createSchema = handler("CreateConventionSchema", {
  on: ConventionRegistered,
  ok: SchemaCreated,
  err: SchemaCreationFailed,
  handle: async (e, { tx, outbox }) => {
    expectTypeOf(tx).toEqualTypeOf<undefined>();
    outbox.append(ConventionReady({ conventionSrn: e.conventionSrn }));
    return ok(SchemaCreated({ conventionSrn: e.conventionSrn, fieldCount: 3 }));
  },
});
const createFeatureTables = handler("CreateFeatureTables", {
  on: SchemaCreated,
  ok: FeatureTablesCreated,
  err: FeatureTablesFailed,
  handle: async ({ conventionSrn, fieldCount }) =>
    fieldCount > 0
      ? ok(FeatureTablesCreated({ conventionSrn }))
      : err(FeatureTablesFailed({ conventionSrn })),
});

const ends = {
  onCompleted: (id: string) => ConventionReady({ conventionSrn: id }),
  onFailed: (id: string, failure: FlowFailure) =>
    ConventionInitFailed({ conventionSrn: id, error: failure.step }),
};
const basics = { trigger: ConventionRegistered, correlate: "conventionSrn" } as const;

it("[F-03][F-18] the convention's initialisation compiles as the design shows it", () => {
  const conventionInit = eventSaga("convention_init", {
    trigger: ConventionRegistered,
    correlate: "conventionSrn",
    steps: [
      step("create_schema", createSchema, { compensation: CompensateSchema }),
      step("create_feature_tables", createFeatureTables, { compensation: CompensateFeatureTables }),
    ],
    onCompleted: (id) => ConventionReady({ conventionSrn: id }),
    onFailed: (id, failure) => ConventionInitFailed({ conventionSrn: id, error: failure.step }),
  });
  expectTypeOf(conventionInit.trigger).toEqualTypeOf<typeof ConventionRegistered>();
  void eventSaga("convention_init", {
    ...basics,
    steps: [
      step("create_schema", createSchema, { compensation: CompensateSchema }),
      // @ts-expect-error step create_schema takes ConventionRegistered, but step create_schema gives SchemaCreated
      step("create_schema", createSchema, { compensation: CompensateSchema }),
    ],
    ...ends,
  });
});

it("[F-06] what a saga has to say in the end is an event, made from its id and what went wrong", () => {
  expectTypeOf<Parameters<typeof ends.onFailed>[1]>().toEqualTypeOf<FlowFailure>();
  const steps = [step("create_schema", createSchema)] as const;
  void eventSaga("init", { ...basics, steps, ...ends });
  // @ts-expect-error a text is no event
  void eventSaga("init", { ...basics, steps, ...ends, onCompleted: (id: string) => id });
  // @ts-expect-error nor is nothing
  void eventSaga("init", { ...basics, steps, ...ends, onFailed: () => undefined });
  // @ts-expect-error a saga says what happened in the end, both ways
  void eventSaga("init", { ...basics, steps, onCompleted: ends.onCompleted });
  void eventSaga("init", {
    ...basics,
    steps,
    onCompleted: ends.onCompleted,
    // @ts-expect-error a failure has a step and a label, never a message
    onFailed: (id, failure) => (void failure.message, ends.onFailed(id, failure)),
  });
});

it("[F-03] a step has a handler, a command and a deadline, and nothing else", () => {
  expectTypeOf(step("a", createSchema).handler).toEqualTypeOf<typeof createSchema>();
  void step("a", createSchema, { compensation: CompensateSchema, deadline: "10m" });
  // @ts-expect-error a command is an event, not its name
  void step("a", createSchema, { compensation: "CompensateSchema" });
  // @ts-expect-error that is no duration
  void step("a", createSchema, { deadline: "soon" });
  // @ts-expect-error a function is no handler
  void step("a", () => ok(SchemaCreated({ conventionSrn: "", fieldCount: 0 })));
  void eventSaga("init", { ...basics, steps: [step("a", createSchema)], ...ends, deadline: "1d" });
  // @ts-expect-error there is no such option
  void eventSaga("init", { ...basics, steps: [step("a", createSchema)], ...ends, timeout: "1d" });
});

it("[F-02] a handler sees its event's own fields, which it cannot change", () => {
  expectTypeOf<Parameters<typeof createSchema.handle>>().toBeArray();
  const base = { on: ConventionRegistered, ok: SchemaCreated, err: SchemaCreationFailed };
  const done = ok(SchemaCreated({ conventionSrn: "", fieldCount: 0 }));
  void handler("h", { ...base, handle: (e) => (expectTypeOf(e.title).toBeString(), done) });
  void handler("h", { ...base, handle: (e) => (expectTypeOf(e.correlation).toBeString(), done) });
  // @ts-expect-error that field is of another event
  void handler("h", { ...base, handle: (e) => (void e.fieldCount, done) });
  // @ts-expect-error what has happened does not change
  void handler("h", { ...base, handle: (e) => ((e.id = "x"), done) });
});

it("[F-15] only events go into the handler's outbox", () => {
  const base = { on: ConventionRegistered, ok: SchemaCreated, err: SchemaCreationFailed };
  const done = ok(SchemaCreated({ conventionSrn: "", fieldCount: 0 }));
  const note = ConventionReady({ conventionSrn: "" });
  expectTypeOf(note.type).toEqualTypeOf<"ConventionReady">();
  void handler("h", { ...base, handle: (_e, { outbox }) => (outbox.append(note, note), done) });
  // @ts-expect-error data is no event
  void handler("h", { ...base, handle: (_e, { outbox }) => (outbox.append({ conventionSrn: "" }), done) });
  // @ts-expect-error nor is what makes one
  void handler("h", { ...base, handle: (_e, { outbox }) => (outbox.append(ConventionReady), done) });
});

it("[F-12] how often a handler is tried is said in numbers and durations", () => {
  const base = { on: ConventionRegistered, ok: SchemaCreated, err: SchemaCreationFailed };
  const handle = (): never => {
    throw new Terminal("no");
  };
  expectTypeOf(handle).returns.toBeNever();
  void handler("h", { ...base, handle, retry: { attempts: 3, base: "1s", cap: "1m" }, timeout: "30s" });
  // @ts-expect-error a number of tries is a number
  void handler("h", { ...base, handle, retry: { attempts: "3" } });
  // @ts-expect-error that is no duration
  void handler("h", { ...base, handle, timeout: "a while" });
});

it("[F-03] a handler whose work is a saga of steps gives it the input that it takes, and answers with its own events", () => {
  const build = saga("build", z.object({ fields: z.number() })).step("count", { act: () => 3 });
  const base = {
    on: ConventionRegistered,
    ok: SchemaCreated,
    err: SchemaCreationFailed,
    saga: build,
    failed: (e: { readonly conventionSrn: string }) =>
      SchemaCreationFailed({ conventionSrn: e.conventionSrn }),
  };
  const input = (): { fields: number } => ({ fields: 1 });
  const built = sagaHandler("build", {
    ...base,
    input,
    completed: (e, results) => SchemaCreated({ conventionSrn: e.conventionSrn, fieldCount: results.count }),
  });
  expectTypeOf(built.ok).toEqualTypeOf<typeof SchemaCreated>();
  void sagaHandler("build", {
    ...base,
    input,
    // @ts-expect-error that is the failure event
    completed: (e) => SchemaCreationFailed({ conventionSrn: e.conventionSrn }),
  });
  void sagaHandler("build", {
    ...base,
    // @ts-expect-error the saga takes a number
    input: () => ({ fields: "1" }),
    completed: (e) => SchemaCreated({ conventionSrn: e.conventionSrn, fieldCount: 0 }),
  });
});

it("[F-14][P-02] a run tells how it stands, and whoever steers it says why", async () => {
  const amends = new Amends({ database: sqlite(":memory:"), events: [createSchema] });
  const [view] = await amends.events.runs("init", "c-1");
  expectTypeOf(view).toEqualTypeOf<FlowView | undefined>();
  expectTypeOf<FlowStatus>().toEqualTypeOf<"running" | "compensating" | "completed" | "failed" | "stalled">();
  void amends.events.retry("id", { reason: "the warehouse is back", by: "ann" });
  // @ts-expect-error a reason is asked for
  void amends.events.retry("id", {});
  // @ts-expect-error so it is here
  void amends.events.resolve("id");
});

const Placed = event("Placed", z.object({ orderId: srn }));
const Approved = event("Approved", z.object({ orderId: srn, limit: z.number() }));
const Declined = event("Declined", z.object({ orderId: srn }));
const Paid = event("Paid", z.object({ orderId: srn, cents: z.number() }));
const Packed = event("Packed", z.object({ orderId: srn, boxes: z.number() }));
const Shipped = event("Shipped", z.object({ orderId: srn }));
const NoOrder = event("NoOrder", z.object({ orderId: srn }));
const Lost = event("Lost", z.object({ parcel: srn }));

const check = handler("check", {
  on: Placed,
  ok: oneOf(Approved, Declined),
  err: NoOrder,
  handle: ({ orderId }) => (orderId === "" ? ok(Declined({ orderId })) : ok(Approved({ orderId, limit: 3 }))),
});
const made = { err: NoOrder, handle: () => err(NoOrder({ orderId: "" })) } as const;
const pay = handler("pay", { ...made, on: Approved, ok: Paid });
const pack = handler("pack", { ...made, on: Approved, ok: Packed });
const refuse = handler("refuse", { ...made, on: Declined, ok: Shipped });
const ship = handler("ship", {
  on: all(Paid, Packed),
  ok: Shipped,
  err: NoOrder,
  handle: ([paid, packed]) => {
    expectTypeOf(paid.cents).toBeNumber();
    expectTypeOf(packed.boxes).toBeNumber();
    expectTypeOf(packed.type).toEqualTypeOf<"Packed">();
    expectTypeOf(paid.time).toEqualTypeOf<Date>();
    return ok(Shipped({ orderId: paid.orderId }));
  },
});
const orderEnds = {
  onCompleted: (id: string) => Shipped({ orderId: id }),
  onFailed: (id: string) => NoOrder({ orderId: id }),
};
const orderBasics = { trigger: Placed, correlate: "orderId" } as const;

it("[F-24] a saga that branches and fans in compiles, and its handlers see each event typed", () => {
  const orders = eventSaga("order", {
    ...orderBasics,
    steps: [
      step("check", check),
      step("pay", pay),
      step("pack", pack),
      step("ship", ship, { ends: [Shipped] }),
      step("refuse", refuse),
    ],
    ...orderEnds,
  });
  expectTypeOf(orders.trigger).toEqualTypeOf<typeof Placed>();
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      step("check", check, { ends: [Declined] }),
      step("pay", pay),
      step("pack", pack),
      step("ship", ship),
    ],
    ...orderEnds,
  });
  void handler("h", {
    on: Placed,
    ok: oneOf(Approved, Declined),
    err: NoOrder,
    // @ts-expect-error Shipped is none of the two
    handle: () => ok(Shipped({ orderId: "" })),
  });
  // @ts-expect-error one of several needs several
  void oneOf(Approved);
  // @ts-expect-error a handler gives one of several, and takes all of several
  void handler("h", { ...made, on: oneOf(Approved, Declined), ok: Shipped });
  // @ts-expect-error the step does not give Paid
  void step("check", check, { ends: [Paid] });
});

it("[F-24] a wrong event, a missing branch and a fan-in on what no step gives do not compile", () => {
  expectTypeOf(step("check", check, { ends: [Declined] }).ends).toEqualTypeOf<readonly (typeof Declined)[]>();
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      // @ts-expect-error no later step takes Declined, which step check gives: add a step, or name it in `ends`
      step("check", check),
      step("pay", pay),
      step("pack", pack),
      step("ship", ship),
    ],
    ...orderEnds,
  });
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      step("check", check, { ends: [Declined] }),
      step("pay", pay),
      // @ts-expect-error step ship waits for Packed, which no step before it gives
      step("ship", ship),
    ],
    ...orderEnds,
  });
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      step("check", check, { ends: [Declined] }),
      // @ts-expect-error step ship takes Paid, but step check gives Approved
      step("ship", ship),
    ],
    ...orderEnds,
  });
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      step("check", check),
      step("refuse", refuse, { ends: [Shipped] }),
      // @ts-expect-error no later step takes Paid, which step pay gives
      step("pay", pay),
      step("pack", pack),
    ],
    ...orderEnds,
  });
  void eventSaga("order", {
    ...orderBasics,
    steps: [
      // @ts-expect-error Lost has no field orderId, by which this saga correlates
      step("check", handler("h", { ...made, on: Placed, ok: oneOf(Approved, Lost) }), { ends: [Lost] }),
      step("pay", pay),
    ],
    ...orderEnds,
  });
});
