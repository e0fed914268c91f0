import type { AmendsError } from "amends";
import { AuditTrail, type AuditType, type NewAuditEvent } from "amends/audit";
import { expect, it } from "vitest";
import { AUDIT_TYPES } from "../../src/audit/event.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { shop } from "../outbox/support/shop.ts";

const event = (subjectId: string, type: AuditType = "ERASURE_REQUESTED"): NewAuditEvent => ({
  type,
  subjectId,
  payload: { entry_id: "e", attempts: 1, abandoned: false, error: null },
});

onEachDatabase((database) => {
  it("[E-09] an event has an id, a type, a subject, the database's time and a payload of scalars", async () => {
    const clock = virtualClock();
    const { db, audit } = await shop(database, { clock });
    await audit.append([event("u-1")]);
    const { events } = await new AuditTrail(db).list();
    expect(events).toMatchObject([{ ...event("u-1"), at: new Date(clock.virtualNowMs()) }]);
    expect(events[0]?.id).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("[E-09] the database refuses to change or to remove an event, from any client", async () => {
    const { db, audit, trail } = await shop(database);
    await audit.append([event("u-1")]);
    const { dialect } = db;
    for (const statement of [
      sql`update ${dialect.table("audit_events")} set subject_id = 'u-2'`,
      sql`update ${dialect.table("audit_events")} set type = type`,
      sql`delete from ${dialect.table("audit_events")}`,
      sql`delete from ${dialect.table("audit_head")}`,
    ])
      await expect(db.query(statement)).rejects.toThrow("only ever added to");
    expect(await trail("u-1")).toEqual(["ERASURE_REQUESTED"]);
  });

  it("[E-09] [O-10] events are part of the transaction: a rollback takes them along", async () => {
    const { db, audit, trail } = await shop(database);
    const work = db.transaction(async (session) => {
      await audit.appendIn(session, [event("u-1")]);
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    expect(await trail()).toEqual([]);
    await db.transaction((session) => audit.appendIn(session, []));
    expect(await trail()).toEqual([]);
  });

  it.each([
    ["a nested payload", { ...event("u"), payload: { a: { b: 1 } } as never }],
    ["a list", { ...event("u"), payload: [1] as never }],
    ["no payload", { ...event("u"), payload: undefined as never }],
    ["NaN", { ...event("u"), payload: { a: Number.NaN } }],
    ["a NUL", { ...event("u"), payload: { a: "\0" } }],
    ["an unknown type", { ...event("u"), type: "ERASURE_FORGOTTEN" as never }],
    ["no subject", event("")],
    ["a long subject", event("x".repeat(256))],
  ])("[K-20] [E-09] %s is refused, and nothing of the list is written", async (_name, wrong) => {
    const { audit, trail } = await shop(database);
    const refusal = await audit.append([event("fine"), wrong]).catch((error: unknown) => error);
    expect((refusal as AmendsError).code).toMatch(/^BAD_/);
    expect(await trail()).toEqual([]);
  });

  it("[E-09] the trail is read oldest first, by subject and type, page by page", async () => {
    const { db, audit } = await shop(database);
    const trail = new AuditTrail(db);
    for (let index = 0; index < 7; index++) await audit.append([event(`u-${index % 2}`, AUDIT_TYPES[index])]);
    const walk = async (subjectId: string | undefined, limit: number): Promise<readonly string[]> => {
      const found: string[] = [];
      let after: string | undefined;
      do {
        const page = await trail.list({
          limit,
          ...(subjectId !== undefined && { subjectId }),
          ...(after !== undefined && { after }),
        });
        found.push(...page.events.map(({ type }) => type));
        after = page.next;
      } while (after !== undefined);
      return found;
    };
    for (const limit of [1, 3, 100]) {
      expect(await walk(undefined, limit)).toEqual(AUDIT_TYPES.slice(0, 7));
      expect(await walk("u-0", limit)).toEqual([0, 2, 4, 6].map((index) => AUDIT_TYPES[index]));
    }
    const only = await trail.list({ types: [AUDIT_TYPES[3], AUDIT_TYPES[5]] });
    expect(only.events.map(({ type }) => type)).toEqual([AUDIT_TYPES[3], AUDIT_TYPES[5]]);
    expect((await trail.list({ types: [] })).events).toEqual([]);
    for (const options of [
      { limit: 0 },
      { after: "x" },
      { types: ["X" as never] },
      { subject: "u" } as never,
    ])
      await expect(trail.list(options)).rejects.toMatchObject({ code: "BAD_OPTION" });
  });
});
