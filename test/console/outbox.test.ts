import { type Amends, err } from "amends";
import { DatabaseAuditSink } from "amends/audit";
import { defineCall } from "amends/calls";
import { type Outbox, dataMap } from "amends/erasure";
import { expect, it } from "vitest";
import { z } from "zod";
import type { ActionLine, AttentionLine, Overview, Page, Revealed } from "../../src/console/contract.ts";
import type {
  AuditEventLine,
  ErasureLine,
  OutboxLine,
  SubjectTrail,
} from "../../src/console/contract-parts.ts";
import type { Database } from "../../src/storage/database.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { visit, type Visit } from "./support/visit.ts";

interface Scene extends Visit {
  readonly amends: Amends;
  readonly outbox: Outbox;
  /** Enqueues one entry per subject. */
  enqueue(...subjects: readonly string[]): Promise<readonly string[]>;
  record(type: AuditEventLine["type"], subjectId: string): Promise<void>;
}

async function scene(database: TestDatabase, clock = virtualClock()): Promise<Scene> {
  const db: Database = await database.open({ clock });
  const erasure = { dataMap: dataMap({ users: { subject: "id" } }) };
  const amends = await database.amends({ database: db, erasure });
  const audit = new DatabaseAuditSink(db);
  const { outbox } = amends.erasure;
  return {
    ...visit(amends),
    amends,
    outbox,
    enqueue: (...subjects) =>
      db.transaction((session) =>
        outbox.enqueueIn(
          session,
          subjects.map((subjectId) => ({
            subjectId,
            resolver: "stripe",
            ref: { kind: "stripe", value: `cus_of_${subjectId}` },
          })),
        ),
      ),
    record: async (type, subjectId) => {
      await audit.append([{ type: type as "ERASURE_REQUESTED", subjectId, payload: { entries: 1 } }]);
    },
  };
}

async function abandonAll({ outbox }: Scene): Promise<void> {
  for (const entry of await outbox.claimBatch())
    await outbox.markAbandoned(entry, { error: "NotAuthorised" });
}

onEachDatabase((database) => {
  it("[P-04] entries are listed newest first, by state, kind, resolver and subject, and page without a gap", async () => {
    const { enqueue, outbox, get } = await scene(database);
    const ids = (await enqueue("u-1", "u-2", "u-3", "u-4", "u-5")).toSorted().toReversed();
    const list = async (query: string): Promise<string[]> =>
      (await get<Page<OutboxLine>>("reader", `/api/outbox?${query}`)).items.map(({ id }) => id);
    expect(await list("")).toEqual(ids);
    expect(await list("status=pending&kind=erasure&resolver=stripe")).toEqual(ids);
    expect(await list("status=pending&kind=call,erasure")).toEqual(ids);
    expect(await list("status=pending&kind=call,delivery")).toEqual([]);
    expect(await list("status=abandoned")).toEqual([]);
    expect(await list("resolver=other")).toEqual([]);
    expect(await list("subject=u-3")).toHaveLength(1);
    const [claimed] = await outbox.claimBatch(1);
    if (claimed) await outbox.markAbandoned(claimed, { error: "NotAuthorised" });
    expect(await list("status=abandoned")).toEqual([claimed?.entryId]);
    expect(await list("status=abandoned&kind=erasure,event")).toEqual([claimed?.entryId]);
    expect(await list("status=abandoned&kind=event")).toEqual([]);
    const walked: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const page: Page<OutboxLine> = await get("reader", `/api/outbox?limit=2&after=${after}`);
      walked.push(...page.items.map(({ id }) => id));
      after = page.next;
    }
    expect(walked).toEqual(ids);
  });

  it("[X-01] references are masked, and revealed to whoever may, on record", async () => {
    const { enqueue, get, as, post } = await scene(database);
    const [id = ""] = await enqueue("u-1");
    const page = await as("reader", "/api/outbox");
    expect(await page.text()).not.toContain("cus_of_u-1");
    const line = await get<OutboxLine>("reader", `/api/outbox/${id}`);
    expect(line).toMatchObject({ subjectId: "u-1", refKind: "stripe", ref: { masked: true, shape: "text" } });
    const revealed = await post<Revealed>("revealer", "/api/reveal", { kind: "entry", id, reason: "asked" });
    expect(revealed.fields["ref"]).toBe("cus_of_u-1");
    expect((await get<Page<ActionLine>>("reader", "/api/audit")).items).toMatchObject([
      { action: "reveal", target: { kind: "entry", id }, outcome: "done" },
    ]);
    for (const wrong of ["none", "00000000-0000-7000-8000-000000000000"]) {
      expect((await as("reader", `/api/outbox/${wrong}`)).status).toBe(404);
    }
  });

  it("[P-02] what was abandoned is in attention, and is requeued with a reason, in both trails", async () => {
    const here = await scene(database);
    const { enqueue, get, as, post } = here;
    const [id = ""] = await enqueue("u-1");
    const early = await as("operator", `/api/outbox/${id}/requeue`, {
      method: "POST",
      body: { reason: "early" },
    });
    expect(early.status).toBe(409);
    await abandonAll(here);
    const attention = await get<Page<AttentionLine>>("reader", "/api/attention");
    expect(attention.items).toMatchObject([
      {
        kind: "abandoned-entry",
        id,
        name: "stripe",
        reason: "for u-1: stripe did not erase: NotAuthorised, 1 attempt",
        actions: ["requeue", "resolve"],
        skippable: [],
      },
    ]);
    const overview = await get<Overview>("reader", "/api/overview");
    expect([overview.attention, overview.outbox?.abandoned]).toEqual([
      { value: 1, exact: true },
      { value: 1, exact: true },
    ]);
    const line = await post<OutboxLine>("operator", `/api/outbox/${id}/requeue`, {
      reason: "key was renewed",
    });
    expect(line).toMatchObject({ status: "pending", attempts: 0, actions: [] });
    const trail = await get<SubjectTrail>("reader", "/api/subjects/u-1");
    expect(trail.events).toMatchObject([
      { type: "ERASURE_REQUEUED", payload: { reason: "key was renewed", by: "Otto", entry_id: id } },
    ]);
    expect((await get<Page<ActionLine>>("reader", "/api/audit?action=requeue")).items).toMatchObject([
      { by: "Otto", outcome: "done", reason: "key was renewed" },
      { by: "Otto", outcome: "refused", reason: "early" },
    ]);
  });

  it("[P-02][O-21] an abandoned erasure is confirmed by hand, with the evidence in both trails, and its request completes", async () => {
    const here = await scene(database);
    const { enqueue, get, as, post } = here;
    const [id = ""] = await enqueue("u-1");
    const path = `/api/outbox/${id}/resolve`;
    const early = await as("operator", path, { method: "POST", body: { reason: "early" } });
    expect(early.status).toBe(409);
    await here.record("ERASURE_REQUESTED", "u-1");
    const request = async (): Promise<unknown> =>
      (await get<Page<ErasureLine>>("reader", "/api/erasures")).items[0];
    expect(await request()).toMatchObject({ subjectId: "u-1", open: 1, abandoned: 0 });
    await abandonAll(here);
    expect(await request()).toMatchObject({ subjectId: "u-1", open: 1, abandoned: 1 });
    const reason = "the provider closed its doors: letter of 3 May";
    const line = await post<OutboxLine>("operator", path, { reason });
    expect(line).toMatchObject({ status: "succeeded", lastError: null, actions: [] });
    expect((await get<Page<AttentionLine>>("reader", "/api/attention")).items).toEqual([]);
    const trail = await get<SubjectTrail>("reader", "/api/subjects/u-1");
    expect(await request()).toMatchObject({ subjectId: "u-1", open: 0, abandoned: 0 });
    expect(trail.events).toMatchObject([
      { type: "ERASURE_REQUESTED" },
      { type: "ERASURE_STEP_RESOLVED", payload: { reason, by: "Otto", entry_id: id } },
      { type: "ERASURE_COMPLETED" },
    ]);
    expect((await get<Page<ActionLine>>("reader", "/api/audit?action=resolve")).items).toMatchObject([
      { by: "Otto", target: { kind: "entry", id }, outcome: "done", reason },
      { by: "Otto", target: { kind: "entry", id }, outcome: "refused", reason: "early" },
    ]);
    const bare = visit(await database.amends({}));
    const [other = ""] = await enqueue("u-2");
    await abandonAll(here);
    const sent = { method: "POST", body: { reason: "try" } };
    expect((await bare.as("operator", `/api/outbox/${other}/resolve`, sent)).status).toBe(501);
  });

  it("[P-02] a call of the application's own that was given up is in attention, and is requeued with a reason, on record", async () => {
    const { get, post, as } = await scene(database);
    const mail = defineCall("send-mail", {
      schema: z.object({ to: z.string() }),
      handle: () => err("refused"),
    });
    const { calls } = await database.amends({ calls: [mail] });
    const { entryId: id } = await calls.enqueue(mail, { to: "ada@example.com" });
    await calls.runOnce();
    const { items } = await get<Page<AttentionLine>>("reader", "/api/attention");
    expect(items).toMatchObject([{ kind: "abandoned-call", id, name: "send-mail", actions: ["requeue"] }]);
    expect((await get<Overview>("reader", "/api/overview")).attention.value).toBe(1);
    const line = await get<OutboxLine>("reader", `/api/outbox/${id}`);
    expect(line).toMatchObject({ kind: "call", status: "abandoned", actions: ["requeue"] });
    expect(JSON.stringify([items, line])).not.toContain("ada@example.com");
    const path = `/api/outbox/${id}/requeue`;
    const again = await post<OutboxLine>("operator", path, { reason: "the mail server is back" });
    expect(again).toMatchObject({ status: "pending", attempts: 0, actions: [] });
    const late = await as("operator", path, { method: "POST", body: { reason: "twice" } });
    expect(late.status).toBe(409);
    expect((await get<Page<ActionLine>>("reader", "/api/audit")).items).toMatchObject([
      { by: "Otto", outcome: "refused", reason: "twice", target: { kind: "entry", id } },
      { by: "Otto", outcome: "done", reason: "the mail server is back" },
    ]);
  });

  it("[P-04] a console whose process has no erasure requeues nothing, and says what is missing", async () => {
    const here = await scene(database);
    const [id = ""] = await here.enqueue("u-1");
    await abandonAll(here);
    const bare = visit(await database.amends({}));
    const line = await bare.get<OutboxLine>("reader", `/api/outbox/${id}`);
    expect([line.status, line.actions]).toEqual(["abandoned", []]);
    const sent = { method: "POST", body: { reason: "try" } };
    const refused = await bare.as("operator", `/api/outbox/${id}/requeue`, sent);
    expect(refused.status).toBe(501);
    expect(await refused.json()).toMatchObject({ code: "NOT_CONFIGURED" });
  });

  it("[P-04] erasures show what is open, done and overdue, and a subject has a whole trail", async () => {
    const clock = virtualClock();
    const { enqueue, record, get, as } = await scene(database, clock);
    await record("ERASURE_REQUESTED", "u-1");
    await enqueue("u-1");
    await clock.advance(32 * 86_400_000);
    await record("RECTIFICATION_REQUESTED", "u-2");
    await record("ERASURE_REQUESTED", "u-3");
    await record("ERASURE_COMPLETED", "u-3");
    const list = async (query: string): Promise<readonly ErasureLine[]> =>
      (await get<Page<ErasureLine>>("reader", `/api/erasures?${query}`)).items;
    expect((await list("")).map(({ subjectId, operation }) => `${subjectId} ${operation}`)).toEqual([
      "u-3 erase",
      "u-2 rectify",
      "u-1 erase",
    ]);
    expect((await list("status=open")).map(({ subjectId }) => subjectId)).toEqual(["u-2", "u-1"]);
    expect(await list("status=overdue")).toMatchObject([{ subjectId: "u-1", open: 1, overdue: true }]);
    expect((await list("status=completed")).map(({ subjectId }) => subjectId)).toEqual(["u-3"]);
    expect(await list("q=u-2")).toHaveLength(1);
    const first = await get<Page<ErasureLine>>("reader", "/api/erasures?limit=2");
    const rest = await get<Page<ErasureLine>>("reader", `/api/erasures?limit=2&after=${first.next}`);
    expect(rest.items.map(({ subjectId }) => subjectId)).toEqual(["u-1"]);
    const trail = await get<SubjectTrail>("reader", "/api/subjects/u-1");
    expect([trail.requests.length, trail.entries.length, trail.events.length]).toEqual([1, 1, 1]);
    expect((await as("reader", "/api/subjects/nobody")).status).toBe(404);
    const events = await get<Page<AuditEventLine>>(
      "reader",
      "/api/audit/events?limit=1&type=ERASURE_REQUESTED",
    );
    expect(events.items).toMatchObject([{ subjectId: "u-3" }]);
    const older = await get<Page<AuditEventLine>>(
      "reader",
      `/api/audit/events?limit=1&type=ERASURE_REQUESTED&after=${events.next}`,
    );
    expect(older.items).toMatchObject([{ subjectId: "u-1" }]);
  });
});
