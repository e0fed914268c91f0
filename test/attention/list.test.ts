import type { AttentionItem, AttentionKind, AttentionOptions } from "amends/attention";
import { expect, it } from "vitest";
import { ATTENTION_KINDS } from "../../src/attention/item.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock, type TestDatabase } from "../support/databases.ts";
import { numbered } from "../support/numbered.ts";
import { add } from "./support/waiting.ts";

const START = Date.UTC(2026, 4, 15, 12);

/** Four items of every kind, two of them of one instant. Several kinds share each instant. */
async function scene(database: TestDatabase) {
  const clock = virtualClock(START + 86_400_000);
  const db = await database.open({ clock });
  const amends = await database.amends({ database: db });
  const added: { readonly kind: AttentionKind; readonly id: string; readonly since: number }[] = [];
  for (const [rank, kind] of ATTENTION_KINDS.entries())
    for (const n of [0, 1, 2, 3]) {
      const since = START + ((rank + 2 * (n % 3)) % 5) * 1_000;
      added.push({ kind, id: await add(db, kind, since, `${kind}-${n}`), since });
    }
  const walk = async (options: AttentionOptions): Promise<readonly AttentionItem[]> => {
    const found: AttentionItem[] = [];
    for (let after: string | undefined; ;) {
      const page = await amends.attention.list({ ...options, ...(after !== undefined && { after }) });
      expect(page.items.length).toBeLessThanOrEqual(options.limit ?? 100);
      found.push(...page.items);
      after = page.next;
      if (after === undefined) return found;
    }
  };
  return { amends, db, added, walk };
}

onEachDatabase((database) => {
  it("[P-02] all kinds come in one list, the oldest first, page by page, without a gap or a repetition", async () => {
    const { added, walk } = await scene(database);
    const all = await walk({});
    expect(all.map(({ kind, id }) => `${kind} ${id}`).toSorted()).toEqual(
      added.map(({ kind, id }) => `${kind} ${id}`).toSorted(),
    );
    const places = all.map(({ since, kind }) => [since.getTime(), ATTENTION_KINDS.indexOf(kind)] as const);
    expect(places).toEqual(places.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]));
    for (const limit of [1, 2, 3, 7, 23]) expect(await walk({ limit })).toEqual(all);
  });

  it("[P-02] each item says what it is, since when, why, and what may be done", async () => {
    const { walk, added } = await scene(database);
    const all = await walk({});
    for (const { kind, id, since } of added) {
      const item = all.find((one) => one.kind === kind && one.id === id);
      expect(item).toMatchObject({ since: new Date(since) });
      expect(item?.reason).not.toBe("");
      expect(item?.name).not.toBe("");
    }
    const actions = Object.fromEntries(all.map((item) => [item.kind, item.actions]));
    expect(actions).toMatchObject({
      "stalled-run": ["retry", "resolve"],
      "abandoned-entry": ["requeue", "resolve"],
      "abandoned-call": ["requeue"],
      "abandoned-event": ["retry", "resolve"],
      "dead-letter": ["dismiss", "resend"],
      "disabled-subscription": ["unsubscribe", "enable"],
      "overdue-erasure": [],
      "lost-saga": [],
      "unserved-kind": [],
      "unserved-handler": ["retire"],
      "overdue-schedule": ["pause", "remove"],
      "refused-write": [],
    });
    expect(JSON.stringify(all)).not.toContain("key=secret");
  });

  it("[P-02] one kind is listed by itself, page by page, and every kind is counted", async () => {
    const { amends, walk } = await scene(database);
    const all = await walk({});
    for (const kind of ATTENTION_KINDS) {
      const ofKind = all.filter((item) => item.kind === kind);
      for (const limit of [1, 2, 100]) expect(await walk({ kind, limit })).toEqual(ofKind);
    }
    expect(await amends.attention.count()).toEqual({
      total: { value: 60, exact: true },
      kinds: Object.fromEntries(ATTENTION_KINDS.map((kind) => [kind, { value: 4, exact: true }])),
    });
  });

  it("[P-02] a count stops at a bound and says so", async () => {
    const { db, amends } = await scene(database);
    const numbers = numbered(db.dialect, 5_000);
    await db.query(sql`insert into ${db.dialect.table("saga_state")}
        (saga_id, saga_type, process_id, status, trigger_id, trail, started_at, updated_at, rested_at)
      select 'many-' || r.n, 'flow', 'many-' || r.n, 'stalled', '0190a3f2-0000-7000-8000-000000000000', '',
        ${db.dialect.now()}, ${db.dialect.now()}, ${db.dialect.now()} from ${numbers}`);
    const { total, kinds } = await amends.attention.count();
    expect([kinds["stalled-run"], total]).toEqual([
      { value: 5_000, exact: false },
      { value: 5_056, exact: false },
    ]);
  });

  it("[K-20] a page that cannot be is refused", async () => {
    const amends = await database.amends({});
    for (const options of [
      { limit: 0 },
      { limit: 1_001 },
      { kind: "given-up" as never },
      { after: "x" },
      { after: Buffer.from(JSON.stringify([1, 99, "x"])).toString("base64url") },
      { page: 1 } as never,
    ])
      await expect(amends.attention.list(options)).rejects.toMatchObject({ code: "BAD_OPTION" });
  });
});
