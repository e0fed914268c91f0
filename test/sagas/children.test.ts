import { err, saga, Terminal, type Amends, type Middleware } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const Order = z.object({ cents: z.number() });
const nothing = z.object({});

interface Shop {
  readonly log: string[];
  /** Steps that fail: `label` fails the child, `mail` the parent, `unlabel` the undo of the child. */
  readonly fails: ReadonlySet<string>;
}

function shop({ log, fails }: Shop) {
  const ship = saga("ship", Order, { compensateRetry: { attempts: 1 } })
    .step("label", {
      act: ({ input, key }) => {
        log.push(`label ${input.cents} ${key}`);
        return fails.has("label") ? err("no-label") : `label-${input.cents}`;
      },
      compensate: ({ result }) => {
        if (fails.has("unlabel")) throw new Terminal("PrinterDown");
        log.push(`unlabel ${result}`);
      },
    })
    .step("hand", { act: () => log.push("hand"), compensate: () => void log.push("unhand") });
  const order = saga("order", Order)
    .step("reserve", { act: () => log.push("reserve"), compensate: () => void log.push("release") })
    .saga("ship", ship, { input: ({ input }) => ({ cents: input.cents + 1 }) })
    .step("mail", {
      act: ({ results }) =>
        fails.has("mail") ? err("no-mail") : `${results.ship.id} ${results.ship.results.label}`,
    });
  return { ship, order };
}

/** Runs everything that is due, until nothing is. */
async function settle(amends: Amends): Promise<void> {
  while ((await amends.worker().runOnce()) > 0);
}

/** The saga has been told to turn back. */
async function isCancelled(amends: Amends, id: string): Promise<void> {
  const names = async (): Promise<unknown> =>
    (await amends.inspect(id))?.timeline.map(({ name }) => name) ?? [];
  await expect.poll(names).toContain("cancel");
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-26] a child has its own id and log; the parent holds no slot meanwhile, and gets the child's results", async () => {
    const log: string[] = [];
    const { ship, order } = shop({ log, fails: new Set() });
    const amends = await database.amends({ sagas: [order, ship], clock: virtualClock() });
    await amends.start(order, { cents: 6 }, { id: "o" });
    await amends.worker().runOnce();
    const look = await onlooker(database);
    await settle(amends);
    const results = { label: "label-7", hand: 3 };
    expect(await amends.inspect("o")).toMatchObject({
      status: "COMPLETED",
      results: { ship: { id: "o:ship", results }, mail: "o:ship label-7" },
      children: [{ id: "o:ship", status: "COMPLETED", step: "ship" }],
    });
    expect(await amends.inspect("o:ship")).toMatchObject({
      name: "ship",
      status: "COMPLETED",
      parent: { id: "o", step: "ship" },
      results,
    });
    expect(log).toEqual(["reserve", "label 7 o:ship:label:act", "hand"]);
    expect(await look.history("o:ship")).toContain("label act COMPLETED");
  });

  it("[S-26] while a child runs, its parent waits without a worker, and shows the child that it waits for", async () => {
    const held = gate();
    const slow = saga("slow", nothing).step("a", { act: () => held.pass() });
    const parent = saga("parent", nothing).saga("slow", slow, { input: () => ({}) });
    const amends = await database.amends({ sagas: [parent, slow] });
    await database.worker(amends);
    const run = await amends.start(parent, {}, { id: "p" });
    await held.reached;
    const look = await onlooker(database);
    await expect.poll(() => look.row("p")).toMatchObject({ owner: null, awaits: "$>p:slow" });
    expect((await amends.inspect("p"))?.waiting).toMatchObject({ step: "slow", kind: "saga", for: "p:slow" });
    held.open();
    expect(await run.result()).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-26] a child that fails fails the step with its error, and has nothing left to undo", async () => {
    const log: string[] = [];
    const { ship, order } = shop({ log, fails: new Set(["label"]) });
    const amends = await database.amends({ sagas: [order, ship] });
    await database.worker(amends);
    const run = await amends.start(order, { cents: 6 }, { id: "o" });
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "ship",
      error: { kind: "err", value: "no-label" },
    });
    expect(log).toEqual(["reserve", "label 7 o:ship:label:act", "release"]);
  });

  it("[S-26][S-36] turning back, a parent takes back a child that has completed, before what came before it", async () => {
    const log: string[] = [];
    const { ship, order } = shop({ log, fails: new Set(["mail"]) });
    const amends = await database.amends({ sagas: [order, ship] });
    await database.worker(amends);
    const run = await amends.start(order, { cents: 6 }, { id: "o" });
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "mail", error: { value: "no-mail" } });
    expect(log.slice(3)).toEqual(["unhand", "unlabel label-7", "release"]);
    expect(await amends.inspect("o:ship")).toMatchObject({
      status: "COMPLETED",
      reversedBy: { id: "o:ship:reversal", status: "COMPLETED" },
    });
  });

  it("[S-26][S-14] a child whose undo is stalled shows on its parent, and the parent goes on once a person has helped", async () => {
    const log: string[] = [];
    const fails = new Set(["mail", "unlabel"]);
    const { ship, order } = shop({ log, fails });
    const amends = await database.amends({ sagas: [order, ship] });
    await database.worker(amends);
    await amends.start(order, { cents: 6 }, { id: "o" });
    await expect.poll(async () => (await amends.inspect("o:ship:reversal"))?.status).toBe("STALLED");
    const view = await amends.inspect("o");
    expect(view).toMatchObject({ status: "COMPENSATING", waiting: { for: "o:ship:reversal" } });
    expect(view?.children).toContainEqual({ id: "o:ship:reversal", status: "STALLED", step: "ship~" });
    fails.delete("unlabel");
    await amends.retry("o:ship:reversal", { reason: "the printer is back" });
    await expect.poll(async () => (await amends.inspect("o"))?.status).toBe("FAILED");
    expect(log.slice(3)).toEqual(["unhand", "unlabel label-7", "release"]);
  });

  it("[S-26][S-23] cancelling the parent cancels the child, and waits for what the child undoes", async () => {
    const held = gate();
    const log: string[] = [];
    const slow = saga("slow", nothing)
      .step("a", { act: () => log.push("a"), compensate: () => void log.push("undo a") })
      .step("b", { act: () => held.pass(), compensate: () => void log.push("undo b") });
    const parent = saga("parent", nothing)
      .step("first", { act: () => log.push("first"), compensate: () => void log.push("undo first") })
      .saga("slow", slow, { input: () => ({}) });
    const amends = await database.amends({ sagas: [parent, slow] });
    await database.worker(amends);
    const run = await amends.start(parent, {}, { id: "p" });
    await held.reached;
    await amends.cancel("p", { reason: "changed my mind" });
    await isCancelled(amends, "p:slow");
    expect((await amends.inspect("p"))?.status).toBe("COMPENSATING");
    expect(log).toEqual(["first", "a"]);
    held.open();
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(log).toEqual(["first", "a", "undo b", "undo a", "undo first"]);
    expect((await amends.inspect("p:slow"))?.timeline.map(({ note }) => note)).toContain(
      "The saga that started it turns back.",
    );
  });

  it("[S-26] a child that a person completes although it was to be cancelled is taken back", async () => {
    const held = gate();
    const log: string[] = [];
    let fails = true;
    const slow = saga("slow", nothing, { compensateRetry: { attempts: 1 } }).step("a", {
      act: () => held.pass(),
      compensate: () => {
        if (fails) throw new Terminal("Down");
        log.push("undo a");
      },
    });
    const parent = saga("parent", nothing).saga("slow", slow, { input: () => ({}) });
    const amends = await database.amends({ sagas: [parent, slow] });
    await database.worker(amends);
    const run = await amends.start(parent, {}, { id: "p" });
    await held.reached;
    await amends.cancel("p", { reason: "changed my mind" });
    await isCancelled(amends, "p:slow");
    held.open();
    await expect.poll(async () => (await amends.inspect("p:slow"))?.status).toBe("STALLED");
    fails = false;
    await amends.resolve("p:slow", "COMPLETED", { reason: "it is all there" });
    expect(await run.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(log).toEqual(["undo a"]);
  });

  it("[S-26][S-36] taking back a parent takes back its children, before what came before them", async () => {
    const log: string[] = [];
    const { ship, order } = shop({ log, fails: new Set() });
    const amends = await database.amends({ sagas: [order, ship] });
    await database.worker(amends);
    await (await amends.start(order, { cents: 6 }, { id: "o" })).result();
    const reversal = await amends.reverse("o", { reason: "returned" });
    expect(await reversal.result()).toMatchObject({ status: "COMPLETED" });
    expect(log.slice(3)).toEqual(["unhand", "unlabel label-7", "release"]);
    expect((await amends.inspect("o:ship"))?.reversedBy?.status).toBe("COMPLETED");
  });

  it("[S-26][S-36] a child that was taken back before is not taken back again, and one that is being taken back is waited for", async () => {
    const log: string[] = [];
    const fails = new Set(["unlabel"]);
    const { ship, order } = shop({ log, fails });
    const amends = await database.amends({ sagas: [order, ship] });
    await database.worker(amends);
    for (const id of ["done", "open"])
      expect(await (await amends.start(order, { cents: 6 }, { id })).result()).toMatchObject({
        status: "COMPLETED",
      });
    expect(await (await amends.reverse("open:ship", { reason: "r" })).result()).toMatchObject({
      status: "STALLED",
    });
    fails.clear();
    expect(await (await amends.reverse("done:ship", { reason: "r" })).result()).toMatchObject({
      status: "COMPLETED",
    });
    const [done, open] = [
      await amends.reverse("done", { reason: "r" }),
      await amends.reverse("open", { reason: "r" }),
    ];
    expect(await done.result()).toMatchObject({ status: "COMPLETED" });
    await expect.poll(async () => (await amends.inspect(open.id))?.waiting?.for).toBe("open:ship:reversal");
    await amends.retry("open:ship:reversal", { reason: "r" });
    expect(await open.result()).toMatchObject({ status: "COMPLETED" });
    expect(log.filter((line) => line.startsWith("unlabel"))).toHaveLength(2);
    expect(log.filter((line) => line === "release")).toHaveLength(2);
  });

  it("[S-26] a start that was cut off before its record leaves one child, whatever id it would get the next time", async () => {
    const held = gate();
    const log: string[] = [];
    const child = saga("child", Order).step("a", { act: ({ sagaId }) => log.push(sagaId) });
    let ids = 0;
    const parent = saga("parent", nothing).saga("child", child, {
      id: () => `c-${++ids}`,
      input: () => ({ cents: 1 }),
    });
    // The first worker hangs behind the start of the child, before it can record that.
    const hangs: Middleware = async (_call, next) => {
      const done = await next();
      await held.pass();
      return done;
    };
    const { first, second, lapse } = await pair(
      database,
      { sagas: [parent], middleware: [hangs] },
      { sagas: [parent, child] },
    );
    await database.worker(first);
    await first.start(parent, {}, { id: "p" });
    await held.reached;
    lapse();
    await settle(second);
    expect((await second.inspect("p"))?.status).toBe("COMPLETED");
    expect([ids, log]).toEqual([1, ["c-1"]]);
    expect((await second.inspect("p"))?.children).toHaveLength(1);
    held.open();
  });

  it("[S-26][S-11] turning back, a start that may be under way finds a child that was cancelled before it began", async () => {
    const held = gate();
    const log: string[] = [];
    const child = saga("child", nothing).step("a", { act: () => log.push("a") });
    const parent = saga("parent", nothing).saga("child", child, {
      input: async () => (ids++ === 0 ? held.pass().then(() => ({})) : {}),
    });
    let ids = 0;
    const { first, second, lapse } = await pair(database, { sagas: [parent, child] });
    await database.worker(first);
    await first.start(parent, {}, { id: "p" });
    await held.reached;
    lapse();
    await second.cancel("p", { reason: "changed my mind" });
    await settle(second);
    expect((await second.inspect("p"))?.status).toBe("FAILED");
    held.open();
    await settle(second);
    expect((await second.inspect("p:child"))?.status).toBe("FAILED");
    expect(log).toEqual([]);
  });

  it("[S-26][S-11] a start that failed for good after one that was cut off leaves no child to the latter", async () => {
    const held = gate();
    const log: string[] = [];
    let starts = 0;
    const child = saga("child", nothing).step("a", { act: () => log.push("a") });
    const parent = saga("parent", nothing).saga("child", child, {
      input: async () => {
        const start = ++starts;
        if (start === 1) await held.pass();
        if (start === 2) throw new Terminal("no input");
        return {};
      },
    });
    const { first, second, lapse } = await pair(database, { sagas: [parent, child] });
    await database.worker(first);
    await first.start(parent, {}, { id: "p" });
    await held.reached;
    lapse();
    await settle(second);
    expect((await second.inspect("p"))?.status).toBe("FAILED");
    held.open();
    await settle(second);
    expect((await second.inspect("p:child"))?.status).toBe("FAILED");
    expect([starts, log]).toEqual([3, []]);
  });

  it("[S-26][S-36] a child that has nothing to undo is taken back at once", async () => {
    const child = saga("child", nothing).step("a", { act: () => 1 });
    const parent = saga("parent", nothing)
      .saga("child", child, { input: () => ({}) })
      .step("fail", { act: () => err("no") });
    const amends = await database.amends({ sagas: [parent, child] });
    await database.worker(amends);
    const outcome = await (await amends.start(parent, {}, { id: "p" })).result();
    expect(outcome).toMatchObject({ status: "FAILED", step: "fail" });
    expect((await amends.inspect("p:child"))?.reversedBy).toMatchObject({ status: "COMPLETED" });
  });

  it("[S-26][S-18] an id that another saga has fails the step, and that saga is left alone", async () => {
    const log: string[] = [];
    const child = saga("child", nothing).step("a", { act: () => 1, compensate: () => void log.push("undo") });
    const parent = saga("parent", nothing, { retry: { attempts: 1 } }).saga("child", child, {
      id: () => "taken",
      input: () => ({}),
    });
    const amends = await database.amends({ sagas: [parent, child] });
    await database.worker(amends);
    await (await amends.start(child, {}, { id: "taken" })).result();
    const outcome = await (await amends.start(parent, {})).result();
    expect(outcome).toMatchObject({ status: "FAILED", step: "child", error: { label: "SAGA_CONFLICT" } });
    expect([log, (await amends.inspect("taken"))?.reversedBy]).toEqual([[], undefined]);
  });

  it("[S-26] an input that does not fit the child's schema fails the step", async () => {
    const child = saga("child", Order).step("a", { act: () => 1 });
    const parent = saga("parent", nothing).saga("child", child, {
      input: () => ({ cents: "7" }) as unknown as { cents: number },
    });
    const amends = await database.amends({ sagas: [parent, child] });
    await database.worker(amends);
    const outcome = await (await amends.start(parent, {})).result();
    expect(outcome).toMatchObject({ status: "FAILED", error: { kind: "terminal", label: "BAD_INPUT" } });
  });

  it("[S-26] children have children; a process that does not have a child's definition registered leaves it to another", async () => {
    const leaf = saga("leaf", nothing).step("a", { act: () => "leaf" });
    const middle = saga("middle", nothing).saga("leaf", leaf, { input: () => ({}) });
    const root = saga("root", nothing).saga("middle", middle, { input: () => ({}) });
    const clock = virtualClock();
    const first = await database.amends({ sagas: [root], clock });
    const second = await database.amends({ sagas: [middle, leaf], clock });
    await first.start(root, {}, { id: "r" });
    await settle(first);
    expect((await first.inspect("r"))?.status).toBe("RUNNING");
    await settle(second);
    await settle(first);
    expect(await first.inspect("r")).toMatchObject({
      status: "COMPLETED",
      results: { middle: { results: { leaf: { id: "r:middle:leaf", results: { a: "leaf" } } } } },
    });
  });

  it("[S-26][S-22] behind the pivot a child that failed stalls its parent; retried, another child is started", async () => {
    let tries = 0;
    const child = saga("child", nothing).step("a", { act: () => (++tries === 1 ? err("not-yet") : "done") });
    const parent = saga("parent", nothing)
      .pivot("pay", { act: () => 1 })
      .saga("child", child, { input: () => ({}) });
    const amends = await database.amends({ sagas: [parent, child] });
    await database.worker(amends);
    const run = await amends.start(parent, {}, { id: "p" });
    expect(await run.result()).toMatchObject({ status: "STALLED", step: "child" });
    await amends.retry("p", { reason: "again" });
    await expect.poll(async () => (await amends.inspect("p"))?.status).toBe("COMPLETED");
    expect((await amends.inspect("p"))?.children.map(({ id, status }) => [id, status])).toEqual([
      ["p:child", "FAILED"],
      ["p:child[2]", "COMPLETED"],
    ]);
  });

  it("[S-26][P-06] retention keeps a child as long as its parent waits for it", async () => {
    const clock = virtualClock();
    const log: string[] = [];
    const { ship, order } = shop({ log, fails: new Set() });
    const only = await database.amends({ sagas: [ship], clock });
    const both = await database.amends({ sagas: [order], clock, retention: { sagas: "1h" } });
    await both.start(order, { cents: 6 }, { id: "o" });
    await settle(both);
    await settle(only);
    expect((await only.inspect("o:ship"))?.status).toBe("COMPLETED");
    clock.jump(7_200_000);
    const keeper = await database.amends({ sagas: [ship], clock, retention: { sagas: "1h" } });
    await settle(keeper);
    expect((await keeper.inspect("o:ship"))?.status).toBe("COMPLETED");
    await settle(both);
    expect((await both.inspect("o"))?.results["mail"]).toBe("o:ship label-7");
  });
});
