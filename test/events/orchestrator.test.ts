/** The orchestrator of the source document, driven by a worker, a store and an outbox of the user's own. */
import { err, ok } from "amends";
import {
  buildHandlerSagaMapping,
  EventHandler,
  eventSaga,
  SagaContractViolation,
  SagaOrchestrator,
  SagaRegistry,
  step,
  type AnyHandler,
  type HandlerSagaMapping,
} from "amends/events";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { onEachDatabase } from "../support/databases.ts";
import {
  convention,
  Ready,
  Registered,
  SchemaCreated,
  SchemaFailed,
  SchemaUndone,
  TablesCreated,
  TablesFailed,
} from "./support/convention.ts";
import { runIn } from "./support/flow.ts";
import { ownOutbox, ownStore, type OwnOutbox, type OwnStore } from "./support/own-store.ts";

interface Stage {
  readonly orchestrator: SagaOrchestrator;
  readonly store: OwnStore;
  readonly outbox: OwnOutbox;
  readonly mapping: HandlerSagaMapping;
  readonly handlers: Readonly<Record<"schema" | "tables" | "undoSchema", AnyHandler>>;
}

async function stage(db: Database, isAnswered = true): Promise<Stage> {
  const { saga, undoers } = convention();
  const [store, outbox] = [await ownStore(db), await ownOutbox(db)];
  const registry = new SagaRegistry(isAnswered ? [saga, ...undoers] : [saga]);
  const mapping = buildHandlerSagaMapping([saga]);
  const orchestrator = new SagaOrchestrator({
    store,
    outbox,
    registry,
    mapping,
    transaction: (work) => db.transaction((_, tx) => work(tx), true),
  });
  const [schema, tables] = saga.steps.map((one) => one.handler) as [AnyHandler, AnyHandler];
  return {
    orchestrator,
    store,
    outbox,
    mapping,
    handlers: { schema, tables, undoSchema: undoers[0] as AnyHandler },
  };
}

const srn = "c-1";

onEachDatabase((database) => {
  it("[F-04][F-06] handleResult checks, saves and emits the step's event, and the saga's own at the end", async () => {
    const { orchestrator, store, outbox, mapping, handlers } = await stage(await database.open());
    expect([...mapping].map(([name, place]) => [name, place.saga.name, place.step.name])).toEqual([
      ["CreateSchema", "convention_init", "create_schema"],
      ["CreateTables", "convention_init", "create_feature_tables"],
    ]);
    await orchestrator.handleResult(handlers.schema, ok(SchemaCreated({ srn, fields: 3 })));
    await orchestrator.handleResult(handlers.tables, ok(TablesCreated({ srn, tables: 3 })));
    expect(await store.committed()).toEqual(["running 1", "completed 2"]);
    expect(await outbox.types()).toEqual(["SchemaCreated", "FeatureTablesCreated", "ConventionReady"]);
  });

  it("[F-10][F-11] handleResult compensates: it waits for the answer to a command that has a handler", async () => {
    const { orchestrator, store, outbox, handlers } = await stage(await database.open());
    await orchestrator.handleResult(handlers.schema, ok(SchemaCreated({ srn, fields: 3 })));
    await orchestrator.handleResult(handlers.tables, err(TablesFailed({ srn, hook: "h" })));
    expect(await store.get("convention_init", srn, {})).toMatchObject({
      status: "compensating",
      error: "create_feature_tables",
      undoSteps: ["create_schema"],
    });
    await orchestrator.handleResult(handlers.undoSchema, ok(SchemaUndone({ srn })));
    expect(await store.committed()).toEqual(["running 1", "compensating 1", "failed 1"]);
    expect(await outbox.types()).toEqual([
      "SchemaCreated",
      "FeatureTablesFailed",
      "CompensateSchema",
      "SchemaCompensated",
      "ConventionInitFailed",
    ]);
  });

  it("[F-10][F-11] handleResult sends commands without a handler and does not wait for them, as in the source", async () => {
    const { orchestrator, store, outbox, handlers } = await stage(await database.open(), false);
    await orchestrator.handleResult(handlers.schema, ok(SchemaCreated({ srn, fields: 3 })));
    await orchestrator.handleResult(handlers.tables, err(TablesFailed({ srn, hook: "h" })));
    expect(await store.committed()).toEqual(["running 1", "failed 1"]);
    expect((await outbox.types()).slice(1)).toEqual([
      "FeatureTablesFailed",
      "CompensateSchema",
      "ConventionInitFailed",
    ]);
  });

  it("[F-07] when the outbox throws, handleResult saves no state", async () => {
    const { orchestrator, store, outbox, handlers } = await stage(await database.open());
    const { append } = outbox;
    outbox.append = async (event, options) => {
      await append(event, options);
      throw new Error("the outbox is down");
    };
    const handled = orchestrator.handleResult(handlers.schema, ok(SchemaCreated({ srn, fields: 3 })));
    await expect(handled).rejects.toThrow("the outbox is down");
    expect(await store.committed()).toEqual([]);
    expect(await outbox.types()).toEqual([]);
  });

  it("[F-08] handleResult applies a result once, also when two workers hand it over at the same time", async () => {
    const { orchestrator, store, outbox, handlers } = await stage(await database.open());
    const created = ok(SchemaCreated({ srn, fields: 3 }));
    await Promise.all([1, 2].map(() => orchestrator.handleResult(handlers.schema, created)));
    await orchestrator.handleResult(handlers.schema, created);
    expect(await store.committed()).toEqual(["running 1"]);
    expect(await outbox.types()).toEqual(["SchemaCreated"]);
  });

  it("[F-01][F-08] handleResult refuses a step that is not due, an event that its step does not promise, and a handler without a saga", async () => {
    const { orchestrator, store, outbox, handlers } = await stage(await database.open());
    const early = orchestrator.handleResult(handlers.tables, ok(TablesCreated({ srn, tables: 3 })));
    await expect(early).rejects.toThrow(SagaContractViolation);
    const wrong = orchestrator.handleResult(handlers.schema, ok(Ready({ srn })));
    await expect(wrong).rejects.toThrow("Step create_schema promises SchemaCreated");
    const failed = orchestrator.handleResult(handlers.schema, err(Ready({ srn })));
    await expect(failed).rejects.toThrow("Step create_schema promises SchemaCreationFailed");
    const alone = { ...handlers.undoSchema, name: "alone", on: Ready } as unknown as AnyHandler;
    const foreign = orchestrator.handleResult(alone, ok(SchemaUndone({ srn })));
    await expect(foreign).rejects.toThrow("Handler alone belongs to no saga");
    expect(await store.committed()).toEqual([]);
    expect(await outbox.types()).toEqual([]);
  });

  it("[F-01] an EventHandler is a class with services of its own, and a worker runs it", async () => {
    const made: string[] = [];
    class CreateSchema extends EventHandler<typeof Registered, typeof SchemaCreated, typeof SchemaFailed> {
      readonly #service: { create(title: string): Promise<number> };

      constructor(service: { create(title: string): Promise<number> }) {
        super("CreateSchema", { on: Registered, ok: SchemaCreated, err: SchemaFailed, timeout: "30s" });
        this.#service = service;
      }

      async handle(registered: { srn: string; title: string }) {
        return ok(
          SchemaCreated({ srn: registered.srn, fields: await this.#service.create(registered.title) }),
        );
      }
    }
    const saga = eventSaga("classes", {
      trigger: Registered,
      correlate: "srn",
      steps: [step("create_schema", new CreateSchema({ create: async (title) => made.push(title) }))],
      onCompleted: (id) => Ready({ srn: id }),
      onFailed: (id) => Ready({ srn: id }),
    });
    const amends = await database.amends({ events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn, title: "spectra" }));
    await runIn(amends, saga, srn, "completed");
    expect(made).toEqual(["spectra"]);
  });
});
