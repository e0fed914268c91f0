import { err, ok, saga } from "amends";
import { event, handler } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw, sql } from "../../src/storage/sql.ts";
import { transactionOn } from "../sagas/support/effects-table.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { sent, waitFor } from "./support/flow.ts";

const Asked = event("Asked", z.object({ n: z.number() }));
const Answered = event("Answered", z.object({ n: z.number() }));
const Refused = event("Refused", z.object({ n: z.number() }));
const Noted = event("Noted", z.object({ what: z.string() }));

const answer = handler("answer", {
  on: Asked,
  ok: Answered,
  err: Refused,
  handle: ({ n }) => (n < 0 ? err(Refused({ n })) : ok(Answered({ n: n + 1 }))),
});

onEachDatabase((database) => {
  it("[F-01][F-05] the event that a handler returns goes out, in ok and in err", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [answer] });
    await database.worker(amends);
    await amends.events.publish([Asked({ n: 1 }), Asked({ n: -1 })]);
    await waitFor(async () => (await sent(db)).filter((one) => !one.includes(">")).length === 2);
    expect((await sent(db)).toSorted()).toEqual(["Answered", "Asked > answer", "Asked > answer", "Refused"]);
  });

  it("[F-02][F-17] an event has an id, a time, a correlation and a causation, also through a chain", async () => {
    const seen: unknown[] = [];
    const echo = handler("echo", {
      on: Answered,
      ok: Noted,
      err: Refused,
      handle: (e, { key, attempt }) => {
        seen.push({
          type: e.type,
          time: e.time instanceof Date,
          correlation: e.correlation,
          causation: e.causation,
          key,
          attempt,
        });
        return ok(Noted({ what: "echo" }));
      },
    });
    const amends = await database.amends({ events: [answer, echo] });
    await database.worker(amends);
    const asked = Asked({ n: 1 });
    await amends.events.publish(asked);
    await waitFor(async () => seen.length > 0);
    expect(seen).toEqual([
      {
        type: "Answered",
        time: true,
        correlation: asked.id,
        causation: asked.id,
        key: expect.stringMatching(/^[0-9a-f-]{36}:echo$/) as string,
        attempt: 1,
      },
    ]);
  });

  it("[F-01] a handler that returns another event, or none, has broken its contract: it is given up, not tried again", async () => {
    const wrong = [
      undefined,
      Answered({ n: 1 }),
      ok(Noted({ what: "x" })),
      err(Answered({ n: 1 })),
      ok({ type: "Answered", n: 1 }),
    ];
    let at = 0;
    const careless = handler("careless", {
      on: Asked,
      ok: Answered,
      err: Refused,
      handle: (() => wrong[at++]) as never,
    });
    const amends = await database.amends({ events: [careless] });
    await database.worker(amends);
    for (const n of wrong.keys()) await amends.events.publish(Asked({ n }));
    const items = await waitFor(async () => {
      const page = await amends.attention.list();
      return page.items.length === wrong.length && page.items;
    });
    expect(
      items.map((item) => item.kind === "abandoned-event" && [item.handler, item.error, item.attempts]),
    ).toEqual(wrong.map(() => ["careless", "SagaContractViolation", 1]));
    expect(at).toBe(wrong.length);
  });

  it.each(["a handler", "a handler in its transaction"])(
    "[K-15][K-16] whatever %s throws is recorded as a try, also what throws again when it is read",
    async (kind) => {
      const revoked = Proxy.revocable({}, {});
      revoked.revoke();
      const fight = (): never => {
        throw new Error("x");
      };
      const hostile: unknown[] = [
        "text",
        undefined,
        revoked.proxy,
        new Proxy({}, { get: fight, has: fight, getPrototypeOf: fight }),
        {
          get code() {
            return fight();
          },
          get message() {
            return fight();
          },
        },
      ];
      let calls = 0;
      const thrower = handler("thrower", {
        on: Asked,
        ok: Answered,
        err: Refused,
        retry: { attempts: 2, base: "1ms" },
        ...(kind !== "a handler" && { transaction: transactionOn(database.name) }),
        handle: ({ n }) => {
          calls++;
          return Promise.reject(hostile[n]);
        },
      });
      // No lease ends while the test lasts: a try that is not recorded is never repeated.
      const amends = await database.amends({ events: [thrower], lease: "1h" });
      await database.worker(amends);
      for (const n of hostile.keys()) await amends.events.publish(Asked({ n }));
      const items = await waitFor(async () => {
        const page = await amends.attention.list();
        return page.items.length === hostile.length && page.items;
      });
      expect(items.map((item) => item.kind === "abandoned-event" && [item.error, item.attempts])).toEqual(
        hostile.map(() => ["UnknownError", 2]),
      );
      expect(calls).toBe(2 * hostile.length);
    },
  );

  it("[F-02] a stored event that no longer fits its schema goes to attention; retried when it fits again, it is handled", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [answer] });
    await amends.events.publish(Asked({ n: 1 }));
    const outbox = db.dialect.table("outbox").text;
    await db.query(raw(`update ${outbox} set payload = '{"n":"one"}'`));
    await database.worker(amends);
    const [item] = await waitFor(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    expect(item).toMatchObject({
      kind: "abandoned-event",
      name: "Asked",
      error: "UnreadableEvent",
      actions: ["retry", "resolve"],
    });
    await db.query(raw(`update ${outbox} set payload = '{"n":1}'`));
    await amends.events.retry(item?.id ?? "", { reason: "repaired" });
    await waitFor(async () => (await sent(db)).includes("Answered"));
    expect((await amends.attention.list()).items).toEqual([]);
  });

  it("[P-02] an event that was given up can be resolved, once and with a reason", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [answer] });
    await amends.events.publish(Asked({ n: 1 }));
    await db.query(raw(`update ${db.dialect.table("outbox").text} set payload = '[]'`));
    await database.worker(amends);
    const [item] = await waitFor(async () => {
      const { items } = await amends.attention.list();
      return items.length > 0 && items;
    });
    const note = { reason: "nobody needs it", by: "ada" };
    await amends.events.resolve(item?.id ?? "", note);
    await expect(amends.events.resolve(item?.id ?? "", note)).rejects.toMatchObject({
      code: "NOT_ALLOWED_NOW",
    });
    await expect(amends.events.retry("nonsense", note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    const [row] = await db.query(sql`select status, notes from ${db.dialect.table("outbox")}`);
    expect(row).toMatchObject({ status: "superseded" });
    expect(JSON.parse(row?.["notes"] as string)).toMatchObject([{ action: "resolve", ...note }]);
  });

  it("[F-15] what a handler puts into the outbox goes out with its answer, and not at all when it throws", async () => {
    const clock = virtualClock();
    let tries = 0;
    const noting = handler("noting", {
      on: Asked,
      ok: Answered,
      err: Refused,
      retry: { attempts: 3, base: "1s" },
      handle: ({ n }, { outbox }) => {
        outbox.append(Noted({ what: `try ${++tries}` }));
        if (tries === 1) throw new Error("trouble");
        return ok(Answered({ n }));
      },
    });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [noting] });
    await database.worker(amends);
    await amends.events.publish(Asked({ n: 1 }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await sent(db)).includes("Answered");
    });
    const payloads = await db.query(
      sql`select payload from ${db.dialect.table("outbox")} where name = 'Noted'`,
    );
    expect(payloads.map((row) => row["payload"])).toEqual(['{"what":"try 2"}']);
  });

  it("[F-17] events of one correlation reach a handler in their order, one at a time, though one of them is retried", async () => {
    const clock = virtualClock();
    const seen: string[] = [];
    let running = 0;
    const slow = handler("slow", {
      on: Asked,
      ok: Answered,
      err: Refused,
      retry: { attempts: 5, base: "1s" },
      handle: async ({ n, correlation }, { attempt }) => {
        running++;
        seen.push(`${correlation} ${n}${running > (correlation === "p" ? 2 : 9) ? " at once" : ""}`);
        await Promise.resolve();
        running--;
        if (n === 1 && attempt < 3) throw new Error("trouble");
        return ok(Answered({ n }));
      },
    });
    const db = await database.open({ clock });
    const amends = await database.amends({ database: db, events: [slow] });
    await database.worker(amends);
    const events = [0, 1, 2, 3].map((n) => Asked({ n }, { correlation: "p" }));
    await amends.events.publish([...events, Asked({ n: 9 }, { correlation: "q" })]);
    await waitFor(async () => {
      await clock.advance(1_000);
      return (await sent(db)).filter((one) => one === "Answered").length === 5;
    });
    expect(seen.filter((one) => one.startsWith("p"))).toEqual(["p 0", "p 1", "p 1", "p 1", "p 2", "p 3"]);
    expect(seen.filter((one) => one.startsWith("q"))).toEqual(["q 9"]);
  });

  it("[F-17] an event published twice under one id is one event, and each of its handlers gets it once", async () => {
    const calls: string[] = [];
    const counting = (name: string): typeof answer =>
      handler(name, {
        on: Asked,
        ok: Answered,
        err: Refused,
        handle: ({ n }) => (calls.push(`${name} ${n}`), ok(Answered({ n }))),
      });
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [counting("one"), counting("two")] });
    const asked = Asked({ n: 1 });
    await amends.events.publish(asked);
    await amends.events.publish([asked, asked]);
    await database.worker(amends);
    await waitFor(async () => (await sent(db)).filter((one) => one === "Answered").length === 2);
    expect(calls.toSorted()).toEqual(["one 1", "two 1"]);
    expect((await sent(db)).filter((one) => one.startsWith("Asked"))).toHaveLength(2);
  });

  it("[K-19] an event that this process has no handler for is kept, and handled by whoever has one", async () => {
    const db = await database.open();
    const publisher = await database.amends({ database: db, events: [] });
    await publisher.events.publish(Asked({ n: 1 }));
    const stranger = await database.amends({
      events: [
        handler("other", { on: Noted, ok: Answered, err: Refused, handle: () => ok(Answered({ n: 0 })) }),
      ],
    });
    await (await database.worker(stranger)).stop();
    expect(await sent(db)).toEqual(["Asked"]);
    const knower = await database.amends({ events: [answer] });
    await database.worker(knower);
    await waitFor(async () => (await sent(db)).includes("Answered"));
    expect(await sent(db)).toEqual(["Asked (succeeded)", "Asked > answer", "Answered"]);
  });

  it("[F-02] older versions are upcast when they are read; newer ones are left to whoever knows them", async () => {
    const Old = event("Moved", z.object({ street: z.string() }));
    const New = event("Moved", z.object({ address: z.object({ street: z.string() }) }), {
      version: 2,
      upcast: (data) => ({ address: { street: (data as { street: string }).street } }),
    });
    const seen: unknown[] = [];
    const onNew = handler("move", {
      on: New,
      ok: Answered,
      err: Refused,
      handle: ({ address }) => (seen.push(address), ok(Answered({ n: 0 }))),
    });
    const onOld = handler("move", {
      on: Old,
      ok: Answered,
      err: Refused,
      handle: ({ street }) => (seen.push(street), ok(Answered({ n: 0 }))),
    });
    const db = await database.open();
    const fresh = await database.amends({ database: db, events: [onNew] });
    const dated = await database.amends({ events: [onOld] });
    await fresh.events.publish(New({ address: { street: "new" } }));
    const worker = await database.worker(dated);
    await dated.events.publish(Old({ street: "old" }));
    await waitFor(async () => seen.length === 1);
    await worker.stop();
    expect(seen).toEqual(["old"]);
    await dated.events.publish(Old({ street: "older" }));
    await database.worker(fresh);
    await waitFor(async () => seen.length === 3);
    expect(seen.slice(1)).toEqual(expect.arrayContaining([{ street: "new" }, { street: "older" }]));
  });

  it("[S-28] a step of a saga emits typed events, and handlers get them", async () => {
    const db = await database.open();
    const order = saga("order", z.object({ n: z.number() })).step("ask", {
      act: ({ input, emit }) => emit(Asked({ n: input.n })),
    });
    const amends = await database.amends({ database: db, sagas: [order], events: [answer] });
    await database.worker(amends, { poll: "50ms" });
    await (await amends.start(order, { n: 3 })).result();
    await waitFor(async () => (await sent(db)).includes("Answered"));
    expect(await sent(db)).toEqual(["Asked (succeeded)", "Asked > answer", "Answered"]);
  });

  it("[F-07] events exist exactly if the caller's transaction commits", async () => {
    const db = await database.open();
    const amends = await database.amends({ database: db, events: [answer] });
    await expect(
      db.transaction(async (_session, tx) => {
        await amends.events.publish(Asked({ n: 1 }), { tx });
        throw new Error("no");
      }),
    ).rejects.toThrow("no");
    expect(await sent(db)).toEqual([]);
    await db.transaction(
      async (_session, tx) => void (await amends.events.publish([Asked({ n: 1 }), Asked({ n: 2 })], { tx })),
    );
    await database.worker(amends);
    await waitFor(async () => (await sent(db)).filter((one) => one === "Answered").length === 2);
  });
});
