import { nthClaim } from "../support/claims.ts";
import { SqlSagaStorage } from "amends/storage";
import { expect, it } from "vitest";
import { sagaMachine } from "../../src/core/saga/machine.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { insertRow, journalOn, KIND, LEASE_MS } from "./support/sagas.ts";

onEachDatabase((database) => {
  it("[K-13] the database itself refuses every change to a row that has ended, from any client", async () => {
    const db = await database.open();
    const table = db.dialect.table("saga_executions");
    for (const status of ["COMPLETED", "FAILED"]) {
      await insertRow(db, status, { status });
      for (const change of [
        sql`status = 'RUNNING'`,
        sql`context = '{}'`,
        sql`version = version + 1`,
        sql`token = 9`,
        sql`next_attempt_at = ${db.dialect.now()}`,
        sql`status = status`,
      ]) {
        await expect(db.query(sql`update ${table} set ${change} where id = ${status}`)).rejects.toThrow(
          "a saga that has ended never changes",
        );
      }
      const [row] = await db.query(
        sql`select status, version, token, context from ${table} where id = ${status}`,
      );
      expect(row).toEqual({ status, version: 1, token: nthClaim(0), context: '{"input":{}}' });
    }
  });

  it("[K-13] an open row can still end, and then no longer", async () => {
    const db = await database.open();
    const table = db.dialect.table("saga_executions");
    await insertRow(db, "open", { status: "RUNNING" });
    await db.query(sql`update ${table} set status = 'COMPLETED' where id = 'open'`);
    await expect(db.query(sql`update ${table} set status = 'RUNNING' where id = 'open'`)).rejects.toThrow(
      "never changes",
    );
  });

  it("[K-13] the log is only ever added to", async () => {
    const db = await database.open();
    const journal = journalOn(db);
    await insertRow(db, "one");
    await journal.claim([KIND], 1, "me", LEASE_MS);
    const logs = db.dialect.table("saga_logs");
    await expect(db.query(sql`update ${logs} set details = null`)).rejects.toThrow("only ever added to");
    await expect(db.query(sql`update ${logs} set token = 7`)).rejects.toThrow("only ever added to");
  });

  it("[K-14] a status that the machine does not know cannot be stored", async () => {
    const db = await database.open();
    for (const status of ["DONE", "", "running", "Completed"]) {
      await expect(insertRow(db, "odd", { status })).rejects.toThrow(/check constraint/i);
    }
    expect(await db.query(sql`select id from ${db.dialect.table("saga_executions")}`)).toEqual([]);
  });

  it("[K-14] through the storage contract a status changes along an arrow, or not at all", async () => {
    const db = await database.open();
    const storage = new SqlSagaStorage(db);
    for (const from of sagaMachine.states) {
      for (const to of sagaMachine.states) {
        if (from === to) continue;
        const id = `${from}-${to}`;
        // Without a plan it is a saga of the contract alone.
        await insertRow(db, id, { status: from, plan: "" });
        const allowed = sagaMachine.arrow(from, to) !== undefined;
        const changed = await storage.updateStatus(id, to).then(
          () => "changed",
          (error: { code?: unknown }) => error.code,
        );
        const [row] = await db.query(
          sql`select status from ${db.dialect.table("saga_executions")} where id = ${id}`,
        );
        expect([id, changed, row?.["status"]]).toEqual(
          allowed ? [id, "changed", to] : [id, "NOT_ALLOWED_NOW", from],
        );
      }
    }
  });

  it("[K-14] what people may order is refused in every state that has no such arrow", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db });
    const note = { reason: "why" };
    for (const status of ["PENDING", "RUNNING", "COMPENSATING", "COMPLETED", "FAILED"]) {
      await insertRow(db, status, { status, plan: "" });
      for (const order of [
        () => amends.retry(status, note),
        () => amends.resolve(status, "FAILED", note),
        () => amends.skip(status, "one", note),
      ]) {
        await expect(order()).rejects.toMatchObject({ code: expect.stringMatching(/^NOT_/) as string });
      }
      const [row] = await db.query(
        sql`select status, version from ${db.dialect.table("saga_executions")} where id = ${status}`,
      );
      expect(row).toEqual({ status, version: 1 });
    }
  });
});
