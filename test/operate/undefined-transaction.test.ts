/** A transaction that got lost on its way to the call: `{ tx: undefined }`. */
import { saga, signal } from "amends";
import { defineCall } from "amends/calls";
import { dataMap } from "amends/erasure";
import { event } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";

const order = saga("order", z.object({})).step("one", { act: () => 1 });
const approved = signal("approved", z.object({}));
const Placed = event("Placed", z.object({ orderId: z.string() }));
const mail = defineCall("mail", { schema: z.object({}), handle: () => undefined });
const map = dataMap({ users: { subject: "id", columns: {} } });

onEachDatabase((database) => {
  it("[C-02] a `tx` that is given and undefined is refused, and nothing is written", async () => {
    const db = await database.open();
    const amends = await database.amends({
      database: db,
      sagas: [order],
      events: [],
      calls: [mail],
      webhooks: {},
      erasure: { dataMap: map },
    });
    // What a caller without `exactOptionalPropertyTypes` may pass.
    const lost = { tx: undefined } as unknown as { readonly tx?: never };
    const needs = { tx: undefined } as unknown as { readonly tx: never };
    const calls = {
      "amends.start": () => amends.start(order, {}, { id: "o-1", ...lost }),
      "amends.signal": () => amends.signal("o-1", approved, {}, lost),
      "events.publish": () => amends.events.publish(Placed({ orderId: "o-1" }), lost),
      "webhooks.publish": () => amends.webhooks.publish({ type: "order.placed", data: {} }, lost),
      "calls.enqueue": () => amends.calls.enqueue(mail, {}, lost),
      "erasure.eraseSubject": () => amends.erasure.eraseSubject("ann", [], needs),
      "erasure.rectifySubject": () => amends.erasure.rectifySubject("ann", [], [], needs),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error = await call().catch((thrown: unknown) => thrown);
      expect([name, error]).toMatchObject([name, { code: "NEEDS_TRANSACTION" }]);
      expect((error as Error).message).toContain(name);
    }
    for (const table of ["saga_executions", "saga_signals", "saga_state", "webhook_events", "outbox"]) {
      const [row] = await db.query(sql`select count(*) as rows from ${db.dialect.table(table)}`);
      expect([table, Number(row?.["rows"])]).toEqual([table, 0]);
    }
    // Left out, the saga is started in a transaction of its own.
    expect((await amends.start(order, {}, { id: "o-1" })).id).toBe("o-1");
  });
});
