import { err, ok, saga } from "amends";
import { event, eventSaga, flowDiagram, flowRunDiagram, sagaHandler, step } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { gate } from "../sagas/support/gate.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { convention, Registered } from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

const order = z.object({ order: z.string() });
const Paid = event("Paid", order);
const Shipped = event("Shipped", z.object({ order: z.string(), parcel: z.string() }));
const NotShipped = event("NotShipped", z.object({ order: z.string(), why: z.string() }));
const Done = event("Done", order);
const Failed = event("Failed", order);

onEachDatabase((database) => {
  it("[F-03] a saga's step may be a saga of steps, however long that takes", async () => {
    const clock = virtualClock();
    const lease = gate();
    const undone: string[] = [];
    const ship = saga("ship", order)
      .step("pack", { act: () => ({ parcel: "p-1" }), compensate: () => void undone.push("pack") })
      .step("send", {
        act: async ({ input }) => {
          if (input.order === "o-2") return err("no-courier");
          await lease.pass();
          return ok();
        },
      });
    const shipping = sagaHandler("shipping", {
      on: Paid,
      ok: Shipped,
      err: NotShipped,
      saga: ship,
      input: ({ order: id }) => ({ order: id }),
      completed: ({ order: id }, { pack }) => Shipped({ order: id, parcel: pack.parcel }),
      failed: ({ order: id }, { error }) => NotShipped({ order: id, why: error.label }),
    });
    const delivery = eventSaga("delivery", {
      trigger: Paid,
      correlate: "order",
      steps: [step("ship", shipping)],
      onCompleted: (id) => Done({ order: id }),
      onFailed: (id) => Failed({ order: id }),
    });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, sagas: [ship], events: [delivery] });
    await database.worker(amends);
    await amends.events.publish([Paid({ order: "o-1" }), Paid({ order: "o-2" })]);
    await lease.reached;
    // Longer than a place is held for it: it is parked, and looked at again.
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await sent(db)).some((one) => one.endsWith("(scheduled)"));
    });
    lease.open();
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await amends.events.runs(delivery, "o-1"))[0]?.status === "completed";
    });
    const [run] = await amends.events.runs(delivery, "o-1");
    expect(run?.events.map(({ event: name, attempts }) => `${name} ${attempts}`)).toEqual([
      "Paid 1",
      "Shipped 0",
      "Done 0",
    ]);
    await runIn(amends, delivery, "o-2", "failed");
    expect(undone).toEqual(["pack"]);
  });

  it("[F-18] a run can be drawn, with what was undone and what people did", async () => {
    const { saga: init, undoers } = convention({ tables: "err" });
    const amends = await database.amends({ events: [init, ...undoers] });
    await database.worker(amends);
    const [begun] = await amends.events.publish(Registered({ srn: "c-1" }));
    await begun?.ended();
    const view = await amends.events.inspect(begun?.id ?? "");
    expect(view && flowRunDiagram(view)).toBe(`sequenceDiagram
  participant O as convention_init
  participant H0 as CreateSchema
  participant H1 as CreateTables
  participant H2 as UndoSchema
  Note over O: run 1
  O->>H0: ConventionRegistered
  H0-->>O: answered
  O->>H1: SchemaCreated
  H1-->>O: answered
  O->>O: FeatureTablesFailed
  O->>H2: CompensateSchema
  H2-->>O: answered
  O->>O: SchemaCompensated
  O->>O: ConventionInitFailed
  Note over O: failed, create_feature_tables FeatureTablesFailed
`);
  });
});

it("[F-03] a saga can be drawn: its chain, and the way back", () => {
  expect(flowDiagram(convention().saga)).toBe(`flowchart LR
  e0([ConventionRegistered]) --> s0[create_schema]
  s0 -- SchemaCreated --> s1[create_feature_tables]
  s0 -. SchemaCreationFailed .-> failed
  s1 -- FeatureTablesCreated --> completed
  s1 -. FeatureTablesFailed .-> u0
  u0[/undo create_schema/] -. CompensateSchema .-> failed
  u1[/undo create_feature_tables/] -. CompensateFeatureTables .-> u0
  completed((completed))
  failed((failed))
`);
});
