import { auditHead, DatabaseAuditSink, verifyAuditChain, type NewAuditEvent } from "amends/audit";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { runnerOn } from "../outbox/support/runner.ts";
import { erase, shop } from "../outbox/support/shop.ts";
import { eraser } from "../outbox/support/systems.ts";

const key = "a key of at least thirty-two bytes, kept elsewhere";
const event = (subjectId: string): NewAuditEvent => ({
  type: "ERASURE_REQUESTED",
  subjectId,
  payload: { attempts: 1 },
});

/** As somebody with every right in the database: without the triggers. */
async function tamper(db: Database, ...statements: readonly string[]): Promise<void> {
  const { dialect } = db;
  const events = dialect.table("audit_events").text;
  const head = dialect.table("audit_head").text;
  const names = ["audit_events_unchanged", "audit_events_kept", "audit_head_forward", "audit_head_kept"];
  for (const name of names) {
    const table = name.startsWith("audit_head") ? head : events;
    await db.query(
      raw(
        dialect.name === "postgres"
          ? `drop trigger ${name} on ${table}`
          : `drop trigger ${dialect.table(name).text}`,
      ),
    );
  }
  for (const statement of statements)
    await db.query(raw(statement.replaceAll("<events>", events).replaceAll("<head>", head)));
}

async function chained(db: Database, count: number): Promise<DatabaseAuditSink> {
  const audit = new DatabaseAuditSink(db, { chain: { key } });
  for (let index = 1; index <= count; index++) await audit.append([event(`u-${index}`)]);
  return audit;
}

onEachDatabase((database) => {
  it("[E-09] an untouched chain holds, however its events came in", async () => {
    const { db } = await shop(database);
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: true, links: 0 });
    const audit = await chained(db, 3);
    await audit.append([event("a"), event("b")]);
    await db
      .transaction(async (session) => {
        await audit.appendIn(session, [event("never")]);
        throw new Error("no");
      })
      .catch(() => undefined);
    await db.transaction(async (session) => {
      await audit.appendIn(session, [event("c")]);
      await audit.appendIn(session, [event("d")]);
    });
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: true, links: 7 });
    expect((await auditHead(db)).link).toBe(7);
  });

  it.each([
    ["a changed subject", "update <events> set subject_id = 'other' where link = 2", 2, "altered"],
    ["a changed type", "update <events> set type = 'ERASURE_COMPLETED' where link = 3", 3, "altered"],
    ["a changed payload", `update <events> set payload = '{"attempts":2}' where link = 1`, 1, "altered"],
    ["a changed hash", "update <events> set hash = 'x' where link = 4", 4, "altered"],
    ["an event that is gone", "delete from <events> where link = 2", 2, "missing"],
    [
      "an event taken out of the chain",
      "update <events> set link = null, hash = null where link = 3",
      3,
      "missing",
    ],
    ["the first one gone", "delete from <events> where link = 1", 1, "missing"],
    ["the end cut off", "delete from <events> where link >= 4", 4, "truncated"],
    ["everything gone", "delete from <events>", 1, "truncated"],
    ["a forged head", "update <head> set hash = 'x'", 5, "head"],
  ])("[E-09] the verifier reports the first break: %s", async (_name, statement, link, reason) => {
    const { db } = await shop(database);
    await chained(db, 5);
    await tamper(db, statement);
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: false, link, reason });
  });

  it("[E-09] a changed instant breaks the chain", async () => {
    const { db } = await shop(database);
    await chained(db, 3);
    const later = db.dialect.plusMs(raw("at"), 1).sql.replace("?", "1");
    await tamper(db, `update <events> set at = ${later} where link = 2`);
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: false, link: 2, reason: "altered" });
  });

  it("[E-09] who cuts the end off and sets the head back is found out by an anchor kept elsewhere", async () => {
    const { db } = await shop(database);
    const audit = await chained(db, 5);
    const anchor = await auditHead(db);
    await audit.append([event("later")]);
    expect(await verifyAuditChain(db, { key, anchor })).toMatchObject({ ok: true });
    await tamper(
      db,
      "delete from <events> where link >= 5",
      "update <head> set link = 4, hash = (select hash from <events> where link = 4)",
    );
    expect(await verifyAuditChain(db, { key })).toEqual({ ok: true, links: 4 });
    expect(await verifyAuditChain(db, { key, anchor })).toEqual({ ok: false, link: 5, reason: "anchor" });
  });

  it("[E-09] without the key nobody can forge a link, and another key does not verify", async () => {
    const { db } = await shop(database);
    await chained(db, 2);
    const other = "another key of at least thirty-two bytes!!";
    expect(await verifyAuditChain(db, { key: other })).toEqual({ ok: false, link: 1, reason: "altered" });
    for (const weak of ["short", "", undefined, 7])
      expect(() => new DatabaseAuditSink(db, { chain: { key: weak as never } })).toThrow("32 bytes");
  });

  it("[E-09] the head only ever moves forward, and a head that is gone stops the trail", async () => {
    const { db } = await shop(database);
    const audit = await chained(db, 2);
    await expect(db.query(sql`update ${db.dialect.table("audit_head")} set link = 1`)).rejects.toThrow(
      "forward",
    );
    await tamper(db, "delete from <head>");
    await expect(audit.append([event("u")])).rejects.toMatchObject({ code: "DATABASE_REFUSED" });
  });
});

onDatabase("postgres", (database) => {
  it("[E-09] many that append at once make one chain without a gap", async () => {
    const worlds = await Promise.all([shop(database), shop(database), shop(database)]);
    const sinks = worlds.map(({ db }) => new DatabaseAuditSink(db, { chain: { key } }));
    const [world] = worlds;
    const subjects = Array.from({ length: 300 }, (_, index) => `u-${index}`);
    await world.enqueue(...subjects.map((subject) => erase(subject)));
    await Promise.all([
      ...sinks.map(async (sink, index) => {
        for (let round = 0; round < 60; round++) await sink.append([event(`s-${index}-${round}`)]);
      }),
      ...worlds.map(async (one, index) => {
        const runner = runnerOn({ ...one, audit: sinks[index] as DatabaseAuditSink }, [eraser("stripe")], {
          batchSize: 10,
        });
        for (let empty = 0; empty < 2;) empty = (await runner.runOnce()) === 0 ? empty + 1 : 0;
      }),
    ]);
    expect(await verifyAuditChain(world.db, { key })).toEqual({ ok: true, links: 180 + 600 });
  }, 60_000);
});
