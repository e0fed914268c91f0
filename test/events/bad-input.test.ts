/** What comes from outside and does not fit: each has a defined end, and says what was wrong. */
import { Amends, err, ok } from "amends";
import { eventSaga, handler, step, type SagaDef } from "amends/events";
import { expect, it } from "vitest";
import { raw } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import {
  convention,
  InitFailed,
  Ready,
  Registered,
  SchemaCreated,
  SchemaFailed,
  TablesCreated,
  UndoSchema,
} from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

onEachDatabase((database) => {
  const answering = (answer: unknown, calls: string[]): SagaDef =>
    eventSaga("convention_init", {
      trigger: Registered,
      correlate: "srn",
      steps: [
        step(
          "create_schema",
          handler("CreateSchema", {
            on: Registered,
            ok: SchemaCreated,
            err: SchemaFailed,
            handle: () => (calls.push("schema"), answer) as never,
          }),
          { compensation: UndoSchema },
        ),
      ],
      onCompleted: (srn) => Ready({ srn }),
      onFailed: (srn, { error }) => InitFailed({ srn, error }),
    });

  const wrong: readonly (readonly [string, unknown])[] = [
    ["nothing", undefined],
    ["another event", ok(TablesCreated({ srn: "c-1", tables: 1 }))],
    ["its success event in err", err(SchemaCreated({ srn: "c-1", fields: 1 }))],
    ["data that is no event", ok({ srn: "c-1", fields: 1 })],
  ];
  for (const [what, answer] of wrong) {
    it(`[F-01][F-12] a step that answers with ${what} has failed: its run turns back, and nothing of the answer is sent`, async () => {
      const calls: string[] = [];
      const saga = answering(answer, calls);
      const db = await database.open();
      const amends = await database.amends({ database: db, events: [saga] });
      await database.worker(amends);
      await amends.events.publish(Registered({ srn: "c-1" }));
      const run = await runIn(amends, saga, "c-1", "failed");
      expect(run.failure).toEqual({ step: "create_schema", error: "SagaContractViolation" });
      expect(calls).toEqual(["schema"]);
      expect(await sent(db)).toEqual([
        "ConventionRegistered > CreateSchema (superseded)",
        "CompensateSchema",
        "ConventionInitFailed",
      ]);
    });
  }

  it("[F-01] a step that answers for another process than its own is refused, and sends nothing", async () => {
    const saga = answering(ok(SchemaCreated({ srn: "c-2", fields: 1 })), []);
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await database.worker(amends);
    await amends.events.publish(Registered({ srn: "c-1" }));
    const run = await runIn(amends, saga, "c-1", "failed");
    expect(run.failure).toEqual({ step: "create_schema", error: "SagaContractViolation" });
    expect(await amends.events.runs(saga, "c-2")).toEqual([]);
    expect(await sent(db)).not.toContain("SchemaCreated");
  });

  it("[F-09][K-19] a trigger that nobody here handles begins no run, and is kept for whoever knows its saga", async () => {
    const { saga, calls } = convention();
    const db = await database.open();
    const stranger = new Amends({ database: db, events: [] });
    expect(await stranger.events.publish(Registered({ srn: "c-1" }))).toEqual([]);
    await stranger.worker().runOnce();
    expect(await sent(db)).toEqual(["ConventionRegistered"]);
    const amends = await database.amends({ events: [saga] });
    await database.worker(amends);
    await runIn(amends, saga, "c-1", "completed");
    expect(calls).toEqual(["schema 1", "tables 1"]);
  });

  it("[F-02][K-20] an event without the field by which its saga correlates is refused where it is published", async () => {
    const { saga } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    await expect(amends.events.publish(Registered({ srn: "" }))).rejects.toThrow(
      "convention_init: srn must not be empty",
    );
    await expect(amends.events.publish([{ srn: "c-1" } as never])).rejects.toThrow(
      "Only events can be published, made by `event(…)`.",
    );
    expect(await sent(db)).toEqual([]);
  });

  it("[F-02] a stored event of a run that no longer fits waits for a person; resolved, its step has failed", async () => {
    const { saga, calls } = convention();
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [saga] });
    const [run] = await amends.events.publish(Registered({ srn: "c-1" }));
    await db.query(raw(`update ${db.dialect.table("outbox").text} set payload = '{"srn":7}'`));
    await database.worker(amends);
    const [item] = await waitFor(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    expect(item).toMatchObject({ kind: "abandoned-event", sagaId: run?.id, error: "UnreadableEvent" });
    expect((await amends.events.inspect(run?.id ?? ""))?.status).toBe("running");
    await amends.events.resolve(item?.id ?? "", { reason: "nobody can read it" });
    await runIn(amends, saga, "c-1", "failed");
    expect(calls).toEqual([]);
  });
});
