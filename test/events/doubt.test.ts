/** Handlers of which nobody knows whether they have done something: their steps are undone. */
import { err, ok } from "amends";
import { eventSaga, handler, step, type SagaDef } from "amends/events";
import { expect, it } from "vitest";
import { transactionOn } from "../sagas/support/effects-table.ts";
import { gate } from "../sagas/support/gate.ts";
import { pair } from "../sagas/support/pair.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import {
  convention,
  InitFailed,
  Ready,
  Registered,
  SchemaCreated,
  SchemaFailed,
  SchemaUndone,
  UndoFailed,
  UndoSchema,
} from "./support/convention.ts";
import { runIn, sent, waitFor } from "./support/flow.ts";

onEachDatabase((database) => {
  it("[F-12][K-18] a handler that a shutdown stopped may have done something: when its run turns back, its step is undone", async () => {
    const clock = virtualClock();
    const reached = gate();
    const { saga, undoers, calls } = convention(
      {
        tables: ({ signal }) =>
          new Promise((_resolve, reject) => {
            signal.addEventListener("abort", () => reject(signal.reason as Error));
            void reached.pass();
          }),
      },
      { tables: 60_000 },
    );
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [saga, ...undoers] });
    const worker = await database.worker(amends, { poll: "1h" });
    await amends.events.publish(Registered({ srn: "c-1" }));
    await reached.reached;
    void worker.stop({ deadline: "0s" });
    await waitFor(async () => (await sent(db)).includes("SchemaCreated > CreateTables (pending)"));
    clock.jump(61_000);
    const other = await database.amends({ database: db, events: [saga, ...undoers] });
    await database.worker(other, { poll: "10ms" });
    await waitFor(async () => {
      await clock.advance(10);
      return (await other.events.runs(saga, "c-1"))[0]?.status === "failed";
    });
    expect(calls.slice(2)).toEqual(["undoTables 1", "undoSchema 1"]);
  });

  it("[K-06] a delivery that was taken over is counted as lost by whoever had it", async () => {
    const hold = gate();
    const one = convention({ schema: () => hold.pass() });
    const other = convention();
    const { first, second, lapse } = await pair(database, { events: [one.saga] }, { events: [other.saga] });
    await database.worker(first);
    await first.events.publish(Registered({ srn: "c-1" }));
    await hold.reached;
    lapse();
    await database.worker(second);
    await runIn(second, other.saga, "c-1", "completed");
    hold.open();
    await waitFor(async () => first.events.lost === 1);
    expect(second.events.lost).toBe(0);
  });

  // On SQLite the open transaction of the first would keep the second from writing at all.
  // oxlint-disable-next-line vitest/no-conditional-tests -- on SQLite there is no such test
  if (database.name === "postgres") {
    it("[F-12][F-13] a handler whose transaction was rolled back because its run had turned back may have done more: it is undone", async () => {
      const hold = gate();
      const calls: string[] = [];
      const make = (pass: () => Promise<void>): { saga: SagaDef; undoer: ReturnType<typeof handler> } => {
        const createSchema = handler("CreateSchema", {
          on: Registered,
          ok: SchemaCreated,
          err: SchemaFailed,
          transaction: transactionOn(database.name),
          handle: async ({ srn }) => {
            calls.push("do");
            await pass();
            return ok(SchemaCreated({ srn, fields: 3 }));
          },
        });
        const undoer = handler("UndoSchema", {
          on: UndoSchema,
          ok: SchemaUndone,
          err: UndoFailed,
          handle: ({ srn }) => {
            calls.push("undo");
            return srn === "" ? err(UndoFailed({ srn })) : ok(SchemaUndone({ srn }));
          },
        });
        const saga = eventSaga("convention_init", {
          trigger: Registered,
          correlate: "srn",
          steps: [step("create_schema", createSchema, { compensation: UndoSchema, deadline: 5_000 })],
          onCompleted: (srn) => Ready({ srn }),
          onFailed: (srn, { error }) => InitFailed({ srn, error }),
        });
        return { saga, undoer };
      };
      const one = make(() => hold.pass());
      const other = make(async () => undefined);
      const { first, second, secondClock } = await pair(
        database,
        { events: [one.saga, one.undoer] },
        { events: [other.saga, other.undoer] },
      );
      await database.worker(first);
      await first.events.publish(Registered({ srn: "c-1" }));
      await hold.reached;
      secondClock.jump(6_000);
      await database.worker(second);
      await runIn(second, other.saga, "c-1", "compensating");
      hold.open();
      await runIn(second, other.saga, "c-1", "failed");
      expect(calls).toEqual(["do", "undo"]);
    });
  }
});
