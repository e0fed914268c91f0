import { expect, it } from "vitest";
import type { LiveChange } from "../../src/console/contract.ts";
import type { VirtualClock } from "amends/testing";
import type { Database } from "../../src/storage/database.ts";
import { Sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { openFlows } from "./support/flows.ts";
import { openShop } from "./support/shop.ts";
import { program, visit, type Visit } from "./support/visit.ts";

interface Heard {
  readonly id: string;
  readonly event: string;
  readonly data: LiveChange;
}

interface Ear {
  /** The next event; whatever comes before it that is none is passed over. */
  next(): Promise<Heard>;
  /** The next piece as it was sent. */
  piece(): Promise<string>;
  stop(): Promise<void>;
  readonly ended: () => Promise<boolean>;
}

async function listen(ask: Visit["ask"], path = "/api/live", lastId?: string): Promise<Ear> {
  const headers = { ...program("reader"), ...(lastId !== undefined && { "last-event-id": lastId }) };
  const response = await ask(path, { headers });
  expect(response.status).toBe(200);
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  const piece = async (): Promise<string> => {
    const { done, value } = await reader.read();
    if (done) throw new Error("The stream has ended.");
    return new TextDecoder().decode(value);
  };
  return {
    piece,
    async next() {
      for (;;) {
        const found = /^id: (.*)\nevent: (.*)\ndata: (.*)\n\n$/.exec(await piece());
        if (found)
          return {
            id: found[1] as string,
            event: found[2] as string,
            data: JSON.parse(found[3] as string) as LiveChange,
          };
      }
    },
    stop: () => reader.cancel(),
    ended: async () => (await reader.read()).done,
  };
}

/** Lets time go by until it has happened: an answer of the database may take more than one turn. */
async function pump<T>(clock: VirtualClock, happening: Promise<T>): Promise<T> {
  let over = false;
  const end = happening.finally(() => {
    over = true;
  });
  while (!over) await clock.advance(1_000);
  return end;
}

/** Counts how often the statement of live updates is sent. */
function counted(db: Database): { database: Database; asked(): number } {
  let count = 0;
  const database = new Proxy(db, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const [statement] = args;
        if (statement instanceof Sql && statement.sql.includes("n.seq > 0")) count += 1;
        return (value as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
  });
  return { database, asked: () => count };
}

/**
 * Waits until the first poll has answered: it only reads what time it is, and a change that happens beside it would be
 * taken for an older one. The second poll begins after that answer.
 */
async function firstPoll(clock: VirtualClock, asked: () => number): Promise<void> {
  const before = asked();
  while (asked() < before + 2) await clock.advance(1_000);
}

onEachDatabase((database) => {
  it("[P-04] changes reach the browser: which sagas, how many need a person, and how far a watched one has come", async () => {
    const clock = virtualClock();
    const { database: watchedDb, asked } = counted(await database.open({ clock }));
    const shop = await openShop(database, { database: watchedDb });
    const { ask } = visit(shop.amends);
    const ear = await listen(ask, "/api/live?saga=o-1");
    await firstPoll(clock, asked);
    await shop.run("STALLED", "o-1");
    const heard = await pump(clock, ear.next());
    expect(heard).toMatchObject({
      event: "change",
      data: { attention: { value: 1, exact: true }, more: false, sagas: [{ id: "o-1", status: "STALLED" }] },
    });
    // What is watched is read by a statement of its own: it may come with another change than its saga.
    const changes = [heard.data];
    const found = async (what: (change: LiveChange) => boolean): Promise<LiveChange> => {
      while (!changes.some(what)) changes.push((await pump(clock, ear.next())).data);
      return changes.find(what) as LiveChange;
    };
    const { watched } = await found((change) => change.watched.length > 0);
    expect(watched).toMatchObject([{ id: "o-1" }]);
    await shop.amends.resolve("o-1", "FAILED", { reason: "by hand" });
    changes.length = 0;
    const after = await found(({ sagas }) => sagas.length > 0);
    expect(after).toMatchObject({ attention: { value: 0 }, sagas: [{ id: "o-1", status: "FAILED" }] });
    const revision = watched[0]?.revision ?? Infinity;
    await found((change) => (change.watched[0]?.revision ?? 0) > revision);
    await ear.stop();
  });

  it("[P-04] a browser hears in which other part something stirred, and of nothing where nothing did", async () => {
    const clock = virtualClock();
    const { database: db, asked } = counted(await database.open({ clock }));
    const scene = await openFlows(database, { database: db, webhooks: {} });
    const { ask } = visit(scene.amends);
    const ear = await listen(ask);
    await firstPoll(clock, asked);
    await scene.run("completed");
    expect((await pump(clock, ear.next())).data.parts).toEqual(["outbox", "flows"]);
    await db.transaction(async (_session, tx) => {
      await scene.amends.webhooks.publish({ type: "order.placed", data: {} }, { tx });
    });
    await scene.amends.webhooks.subscribe({ url: "https://partner.example/hook", events: ["order.*"] });
    await db.transaction(async (_session, tx) => {
      await scene.amends.webhooks.publish({ type: "order.placed", data: {} }, { tx });
    });
    expect((await pump(clock, ear.next())).data.parts).toEqual(["webhooks"]);
    await ear.stop();
  });

  it("[P-04] however many browsers look, the database is asked once a second, and not at all when nobody looks", async () => {
    const clock = virtualClock();
    const { database: watched, asked } = counted(await database.open({ clock }));
    const { amends } = await openShop(database, { database: watched });
    const { ask } = visit(amends);
    const ears = await Promise.all(Array.from({ length: 20 }, () => listen(ask)));
    const sinceMs = clock.monotonicMs();
    while (asked() < 5) await clock.advance(1_000);
    expect(asked()).toBeLessThanOrEqual(1 + (clock.monotonicMs() - sinceMs) / 1_000);
    for (const ear of ears) await ear.stop();
    await clock.advance(1_000);
    const rest = asked();
    for (let second = 0; second < 5; second++) await clock.advance(1_000);
    expect(asked()).toBe(rest);
  });

  it("[P-04] whoever was cut off gets what they missed; whoever missed too much is told to load again", async () => {
    const clock = virtualClock();
    const { database: watched, asked } = counted(await database.open({ clock }));
    const shop = await openShop(database, { database: watched });
    const { ask } = visit(shop.amends);
    const stays = await listen(ask);
    const ear = await listen(ask);
    await firstPoll(clock, asked);
    await shop.run("COMPLETED", "o-1");
    const first = await pump(clock, ear.next());
    await ear.stop();
    await shop.run("COMPLETED", "o-2");
    expect((await stays.next()).id).toBe(first.id);
    const second = await pump(clock, stays.next());
    const back = await listen(ask, "/api/live", first.id);
    expect(await back.next()).toEqual(second);
    const stranger = await listen(ask, "/api/live", "other-7");
    expect((await stranger.next()).event).toBe("reset");
    for (const one of [stays, back, stranger]) await one.stop();
  });

  it("[P-04] a line every 15 seconds keeps the connection, and closing ends it", async () => {
    const clock = virtualClock();
    const { amends } = await openShop(database, { clock });
    const { ask, console } = visit(amends);
    const ear = await listen(ask);
    expect(await ear.piece()).toBe("retry: 2000\n\n");
    await clock.advance(15_000);
    expect(await ear.piece()).toBe(": still here\n\n");
    console.close();
    expect(await ear.ended()).toBe(true);
    const late = await listen(ask);
    expect(await late.piece()).toBe("retry: 2000\n\n");
    expect(await late.ended()).toBe(true);
  });
});
