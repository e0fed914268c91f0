import { nthClaim } from "../support/claims.ts";
import { err, Terminal } from "amends";
import { defineCall, type CallContext, type Calls, type CallsOptions } from "amends/calls";
import { expect, it } from "vitest";
import { z } from "zod";
import { listActions } from "../../src/audit/action-queries.ts";
import { toAction } from "../../src/audit/rows.ts";
import { sql } from "../../src/storage/sql.ts";
import { onFailedTry } from "../../src/runtime/failed-tries.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { gate } from "../sagas/support/gate.ts";
import { erase, shop, type Shop } from "./support/shop.ts";

const schema = z.object({ to: z.string().min(1) });

function mailer(handle: (input: { to: string }, call: CallContext) => unknown, attempts: number = 8) {
  return defineCall("send-mail", { schema, handle, retry: { attempts } });
}

const enqueue = async (
  { db }: Shop,
  calls: Calls,
  call: ReturnType<typeof mailer>,
  to: string,
): Promise<string> => (await db.transaction((_session, tx) => calls.enqueue(call, { to }, { tx }))).entryId;

onEachDatabase((database) => {
  const callsOn = async ({ db }: Shop, calls: CallsOptions["define"] | CallsOptions): Promise<Calls> =>
    (await database.amends({ database: db, calls })).calls;

  it("[O-20] a call is made exactly if the transaction commits, under a key of its own", async () => {
    const world = await shop(database);
    const made: unknown[] = [];
    const mail = mailer(
      ({ to }, { key, attempt, signal }) => void made.push([to, key, attempt, signal.aborted]),
    );
    const calls = await callsOn(world, [mail]);
    const work = world.db.transaction(async (_session, tx) => {
      await calls.enqueue(mail, { to: "nobody" }, { tx });
      throw new Error("no");
    });
    await expect(work).rejects.toThrow("no");
    const id = await enqueue(world, calls, mail, "ada");
    expect(await calls.runOnce()).toBe(1);
    expect(made).toEqual([["ada", id, 1, false]]);
    expect(await world.row(id)).toMatchObject({ kind: "call", status: "succeeded", payload: null });
    expect(await calls.runOnce()).toBe(0);
  });

  it("[O-20] a throw is tried again on the schedule; at the budget it is abandoned, with its input, for a requeue", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    let isDown = true;
    const made: string[] = [];
    const seen: unknown[] = [];
    const mail = mailer(({ to }) => {
      if (isDown) throw new TypeError("down");
      made.push(to);
    }, 2);
    const calls = await callsOn(world, { define: [mail], onAbandoned: (signal) => seen.push(signal) });
    const id = await enqueue(world, calls, mail, "ada");
    const told: unknown[] = [];
    const silence = onFailedTry((thrown) => told.push(thrown));
    await calls.runOnce();
    silence();
    expect(told).toMatchObject([
      {
        part: "call",
        name: "send-mail",
        id,
        attempt: 1,
        waitMs: 30_000,
        label: "TypeError",
        error: { message: "down" },
      },
    ]);
    expect(await world.row(id)).toMatchObject({ status: "failed", last_error: "TypeError" });
    expect(await calls.runOnce()).toBe(0);
    await clock.advance(30_000);
    await calls.runOnce();
    expect(seen).toEqual([{ entryId: id, name: "send-mail", attempts: 2, error: "TypeError" }]);
    expect((await calls.listAbandoned()).entries).toMatchObject([{ entryId: id, lastError: "TypeError" }]);
    expect((await world.outbox.listAbandoned()).entries).toEqual([]);
    isDown = false;
    const note = { reason: "the mail server is back", by: "Otto" };
    expect(await calls.requeue([id], note)).toEqual([id]);
    expect(await calls.requeue([id], note)).toEqual([]);
    await calls.runOnce();
    expect(made).toEqual(["ada"]);
  });

  it("[K-06] a call whose claim was taken meanwhile is counted as lost, and records nothing", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const others: Calls[] = [];
    const made: number[] = [];
    const mail = mailer(async (_, { attempt }) => {
      made.push(attempt);
      if (attempt > 1) throw new TypeError("down");
      // No renewal notices: the clock has jumped while the process was asleep.
      clock.jump(300_000);
      await others[0]?.runOnce();
    });
    const calls = await callsOn(world, [mail]);
    const other = await callsOn(world, [mail]);
    others.push(other);
    const id = await enqueue(world, calls, mail, "ada");
    await calls.runOnce();
    expect(made).toEqual([1, 2]);
    expect([calls.lost, other.lost]).toEqual([1, 0]);
    expect(await world.row(id)).toMatchObject({ status: "failed", token: nthClaim(2), attempts: 2 });
  });

  it.each([
    [
      "a thrown Terminal",
      () => {
        throw new Terminal("no_access");
      },
      "no_access",
    ],
    ["a returned err", () => err("no"), "Err"],
  ])("[O-20] [K-15] %s is not tried again", async (_name, handle, label) => {
    const world = await shop(database);
    const mail = mailer(handle);
    const calls = await callsOn(world, [mail]);
    const id = await enqueue(world, calls, mail, "ada");
    await calls.runOnce();
    expect(await world.row(id)).toMatchObject({ status: "abandoned", last_error: label });
  });

  it("[K-19] a call that this process does not know is left alone, and so is every other kind", async () => {
    const world = await shop(database);
    const mail = mailer(() => undefined);
    const calls = await callsOn(world, [mail]);
    const id = await enqueue(world, calls, mail, "ada");
    const [entry] = await world.enqueue(erase("u-1"));
    const stranger = await callsOn(world, [defineCall("other", { schema, handle: () => undefined })]);
    expect(await stranger.runOnce()).toBe(0);
    expect(await world.row(id)).toMatchObject({ status: "pending", attempts: 0 });
    expect(await calls.runOnce()).toBe(1);
    expect(await world.row(entry as string)).toMatchObject({ status: "pending" });
    expect(await calls.requeue([entry as string], { reason: "is it one?" })).toEqual([]);
  });

  it("[P-02] calls that were given up are in attention, and requeuing them asks for a reason and is on record", async () => {
    const world = await shop(database);
    const mail = mailer(() => err("refused"));
    const calls = await callsOn(world, [mail]);
    const ids = [await enqueue(world, calls, mail, "ada"), await enqueue(world, calls, mail, "bob")];
    await calls.runOnce();
    const attention = async (after?: string) =>
      world.amends.attention.list({ limit: 1, ...(after !== undefined && { after }) });
    const first = await attention();
    expect(first.items).toMatchObject([
      {
        kind: "abandoned-call",
        id: ids[0],
        name: "send-mail",
        reason: "the call send-mail was abandoned: Err",
        attempts: 1,
        actions: ["requeue"],
      },
    ]);
    expect((await attention(first.next)).items).toMatchObject([{ id: ids[1] }]);
    await expect(calls.requeue(ids, { reason: " " })).rejects.toMatchObject({ code: "BAD_OPTION" });
    expect(await world.row(ids[0] as string)).toMatchObject({ status: "abandoned" });
    const { dialect } = world.db;
    const recorded = async () => {
      const rows = await world.db.query(listActions(dialect, { limit: 10 }));
      return rows
        .map(toAction)
        .map(({ by, action, target, reason, outcome }) => ({ by, action, target, reason, outcome }));
    };
    expect(await recorded()).toEqual([]);
    const requeued = await calls.requeue(ids, { reason: "the mail server is back", by: "Otto" });
    expect(requeued.toSorted()).toEqual(ids.toSorted());
    const expected = ids.map((id) => ({
      by: "Otto",
      action: "requeue",
      target: { kind: "call", id },
      reason: "the mail server is back",
      outcome: "done",
    }));
    expect(await recorded()).toEqual(expect.arrayContaining(expected));
    expect((await attention()).items).toEqual([]);
  });

  it("[O-20] without a transaction a call is durable when `enqueue` resolves", async () => {
    const world = await shop(database);
    const made: string[] = [];
    const mail = mailer(({ to }) => void made.push(to));
    const calls = await callsOn(world, [mail]);
    const { entryId, created } = await calls.enqueue(mail, { to: "ada" });
    expect([created, await world.row(entryId)]).toMatchObject([true, { status: "pending" }]);
    await calls.runOnce();
    expect(made).toEqual(["ada"]);
  });

  it("[O-20] the same id with the same call and input is the same call, also after it was made", async () => {
    const world = await shop(database);
    const made: string[] = [];
    const mail = mailer(({ to }) => void made.push(to));
    const other = defineCall("send-letter", { schema, handle: ({ to }) => void made.push(`letter ${to}`) });
    const calls = await callsOn(world, [mail, other]);
    const once = { id: "mail-o-1" };
    const first = await calls.enqueue(mail, { to: "ada" }, once);
    expect(first.created).toBe(true);
    const again = await world.db.transaction((_session, tx) =>
      calls.enqueue(mail, { to: "ada" }, { ...once, tx }),
    );
    expect(again).toEqual({ entryId: first.entryId, created: false });
    const conflict = { code: "CALL_CONFLICT", details: { call: "send-mail", id: "mail-o-1" } };
    await expect(calls.enqueue(mail, { to: "bob" }, once)).rejects.toMatchObject(conflict);
    await calls.runOnce();
    expect(await world.row(first.entryId)).toMatchObject({ status: "succeeded", payload: null });
    expect(await calls.enqueue(mail, { to: "ada" }, once)).toEqual({ ...first, created: false });
    await expect(calls.enqueue(mail, { to: "bob" }, once)).rejects.toMatchObject(conflict);
    // Ids of different calls do not meet.
    expect(await calls.enqueue(other, { to: "ada" }, once)).toMatchObject({ created: true });
    await calls.runOnce();
    expect(made).toEqual(["ada", "letter ada"]);
    for (const id of ["", "x".repeat(181), "\0", 7 as never])
      await expect(calls.enqueue(mail, { to: "ada" }, { id })).rejects.toMatchObject({ code: "BAD_ID" });
  });

  it("[O-20][K-04] of many who enqueue one id at once, one enqueues it", async () => {
    const world = await shop(database, { connections: 4 });
    const mail = mailer(() => undefined);
    const calls = await callsOn(world, [mail]);
    const queued = await Promise.all(
      Array.from({ length: 8 }, () => calls.enqueue(mail, { to: "ada" }, { id: "one" })),
    );
    expect(new Set(queued.map(({ entryId }) => entryId)).size).toBe(1);
    expect(queued.filter(({ created }) => created)).toHaveLength(1);
    expect(await world.rows()).toHaveLength(1);
  });

  it("[O-20][K-03] a call is made no sooner than `runAt`, or than `delay` after it was enqueued", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const made: string[] = [];
    const mail = mailer(({ to }) => void made.push(to));
    const calls = await callsOn(world, [mail]);
    await calls.enqueue(mail, { to: "late" }, { runAt: new Date(clock.virtualNowMs() + 60_000) });
    await calls.enqueue(mail, { to: "later" }, { delay: "2m" });
    expect(await calls.runOnce()).toBe(0);
    await clock.advance(59_999);
    expect(await calls.runOnce()).toBe(0);
    await clock.advance(1);
    expect(await calls.runOnce()).toBe(1);
    await clock.advance(60_000);
    expect(await calls.runOnce()).toBe(1);
    expect(made).toEqual(["late", "later"]);
    for (const wrong of [
      { runAt: new Date(Number.NaN) },
      { runAt: "tomorrow" as never },
      { runAt: new Date(), delay: "1s" } as const,
      { delay: -1 },
      { at: 1 } as never,
    ])
      await expect(calls.enqueue(mail, { to: "ada" }, wrong)).rejects.toMatchObject({
        code: expect.stringMatching(/^BAD_/) as string,
      });
  });

  it("[O-20] a worker drives them, beside everything else", async () => {
    const world = await shop(database);
    const made: string[] = [];
    const mail = mailer(({ to }) => void made.push(to));
    const amends = await database.amends({ database: world.db, calls: [mail] });
    const { calls } = amends;
    await database.worker(amends, { poll: "50ms" });
    for (const to of ["a", "b", "c"]) await enqueue(world, calls, mail, to);
    await expect.poll(() => made.toSorted()).toEqual(["a", "b", "c"]);
  });

  it("[K-17] [K-20] a stored input that cannot be read ends that call alone; a wrong one is refused at the door", async () => {
    const world = await shop(database);
    const made: string[] = [];
    const mail = mailer(({ to }) => void made.push(to));
    const calls = await callsOn(world, [mail]);
    const bad = await enqueue(world, calls, mail, "bad");
    await enqueue(world, calls, mail, "fine");
    await world.db.query(
      sql`update ${world.db.dialect.table("outbox")} set payload = '{' where entry_id = ${bad}`,
    );
    await calls.runOnce();
    expect(made).toEqual(["fine"]);
    expect(await world.row(bad)).toMatchObject({ status: "abandoned", last_error: "UnreadableEntry" });
    const refusal = await enqueue(world, calls, mail, "").catch((error: unknown) => error as Error);
    expect(refusal).toMatchObject({ code: "BAD_INPUT" });
    expect(String(refusal)).toContain("at: to");
    for (const wrong of [
      { schema, handle: "x" },
      { handle: () => 1 },
      { schema, handle: () => 1, retry: { attempts: 0 } },
      { schema, handle: () => 1, tries: 1 },
    ])
      expect(() => defineCall("x", wrong as never)).toThrow(/Call x/);
    await expect(callsOn(world, [mail, mail])).rejects.toThrow("same name");
  });

  it("[K-08][O-20] a call that does not return is tried again within its attempts, and its last try is waited for", async () => {
    const clock = virtualClock();
    const world = await shop(database, { clock });
    const held = gate<string>();
    let made = 0;
    const mail = defineCall("send-mail", {
      schema,
      timeout: "5s",
      retry: { attempts: 2 },
      handle: () => {
        made += 1;
        return held.pass();
      },
    });
    const calls = await callsOn(world, { define: [mail], retry: { base: "1s" } });
    const id = await enqueue(world, calls, mail, "ada");
    const first = calls.runOnce();
    await held.reached;
    await clock.advance(15_000);
    await first;
    expect(await world.row(id)).toMatchObject({ status: "failed", last_error: "TimedOut" });
    await clock.advance(1_000);
    const second = calls.runOnce();
    await expect.poll(() => made).toBe(2);
    await clock.advance(30_000);
    await expect.poll(() => world.row(id)).toMatchObject({ status: "in_flight", last_error: "NotReturned" });
    held.open("sent");
    await second;
    expect(await world.row(id)).toMatchObject({ status: "succeeded" });
    expect(made).toBe(2);
  });
});
