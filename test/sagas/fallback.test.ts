import { AmendsError, err, saga, Terminal } from "amends";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { busy, once } from "./support/busy.ts";
import { calls } from "./support/calls.ts";
import { effect, effects, makeEffects, transactionOn } from "./support/effects-table.ts";
import { forEver, gate } from "./support/gate.ts";
import { onlooker } from "./support/look.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-20] a step that fails for good is undone, then its fallback acts, and its result is the step's", async () => {
    const { made, middleware } = calls();
    const keys: string[] = [];
    const order = saga("order", nothing)
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("charge", {
        retry: { attempts: 2, base: 1 },
        act: busy,
        compensate: ({ result, actKey }) => void keys.push(`${String(result)} ${actKey}`),
        fallback: { name: "invoice", act: ({ key }) => (keys.push(key), { paid: "later" }) },
      })
      .step("ship", { act: ({ results }) => results.charge.paid });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const run = await amends.start(order, {}, { id: "o-1" });
    expect(await run.result()).toEqual({
      status: "COMPLETED",
      id: "o-1",
      results: { reserve: 1, charge: { paid: "later" }, ship: "later" },
    });
    expect(made).toEqual([
      "act reserve",
      "act charge",
      "act charge",
      "undo charge",
      "act invoice",
      "act ship",
    ]);
    expect(keys).toEqual(["undefined o-1:charge:act", "o-1:invoice:act"]);
  });

  it("[S-20] a step that succeeds has no use for its fallback, and only it is undone", async () => {
    const { made, middleware } = calls();
    const order = saga("order", nothing)
      .step("charge", {
        act: () => "card",
        compensate: () => undefined,
        fallback: { name: "invoice", act: () => "paper", compensate: () => undefined },
      })
      .step("ship", { act: () => err("no-carrier") });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "FAILED", step: "ship" });
    expect(made).toEqual(["act charge", "act ship", "undo charge"]);
  });

  it("[S-20] only the branch that ran to a result is undone later, with that result", async () => {
    const { made, middleware } = calls();
    const undone: unknown[] = [];
    const order = saga("order", nothing, { retry: once })
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("charge", {
        act: busy,
        compensate: () => undefined,
        fallback: { name: "invoice", act: () => "i-1", compensate: ({ result }) => void undone.push(result) },
      })
      .step("ship", { act: () => err("no-carrier") });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "FAILED", step: "ship" });
    expect(made.slice(1)).toEqual([
      "act charge",
      "undo charge",
      "act invoice",
      "act ship",
      "undo invoice",
      "undo reserve",
    ]);
    expect(undone).toEqual(["i-1"]);
  });

  it("[S-20][S-11] a step that is known to have done nothing is not undone before its fallback acts", async () => {
    const { made, middleware } = calls();
    const order = saga("order", nothing)
      .step("charge", {
        act: () => err("declined"),
        compensate: () => undefined,
        fallback: { name: "invoice", when: ["declined"], act: () => 1 },
      })
      .step("check", { retry: once, act: busy, fallback: { name: "look-elsewhere", act: () => 2 } });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const outcome = await (await amends.start(order, {})).result();
    expect(outcome).toMatchObject({ status: "COMPLETED", results: { charge: 1, check: 2 } });
    expect(made).toEqual(["act charge", "act invoice", "act check", "act look-elsewhere"]);
  });

  it("[S-20] where both fail the saga turns back, and the log has both failures", async () => {
    const { made, middleware } = calls();
    const order = saga("order", nothing, { retry: once })
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("charge", {
        act: () => Promise.reject(new Terminal("the card service is gone")),
        compensate: () => undefined,
        fallback: { name: "invoice", act: () => err("no-address"), compensate: () => undefined },
      });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const run = await amends.start(order, {});
    expect(await run.result()).toMatchObject({
      status: "FAILED",
      step: "invoice",
      error: { kind: "err", value: "no-address" },
    });
    expect(made).toEqual(["act reserve", "act charge", "undo charge", "act invoice", "undo reserve"]);
    const view = await amends.inspect(run.id);
    const failed = view?.timeline.filter(({ status }) => status === "FAILED");
    expect(failed).toMatchObject([
      { name: "charge", fallback: "invoice", note: "Terminal, invoice instead" },
      { name: "invoice", note: "no-address" },
    ]);
    expect(failed?.[1]).not.toHaveProperty("fallback");
  });

  it.each([
    ["without `when` an err is an answer, not trouble", undefined, "err", false],
    ["without `when` trouble qualifies", undefined, "throw", true],
    ["a label that is named qualifies", ["declined"], "err", true],
    ["a label that is not named does not", ["declined"], "throw", false],
    ["a question is asked", ({ kind }: { kind: string }) => kind === "exhausted", "throw", true],
    ["a question that says no", () => false, "throw", false],
    ["a question that throws says no", busy, "throw", false],
    ["so does one that answers with a promise", (async () => true) as never, "throw", false],
  ] as const)("[S-20] %s", async (_, when, how, qualifies) => {
    const order = saga("order", nothing, { retry: once }).step("charge", {
      act: () => (how === "err" ? err("declined") : busy()),
      fallback: { name: "invoice", act: () => "later", ...(when && { when }) },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const outcome = await (await amends.start(order, {})).result();
    expect(outcome).toMatchObject(qualifies ? { status: "COMPLETED" } : { status: "FAILED", step: "charge" });
  });

  it("[S-20] the fallback sees input and results as they were, whatever the step did to them", async () => {
    const seen: unknown[] = [];
    const spoil = (what: { list: number[] }): void => void what.list.push(99);
    const order = saga("order", z.object({ list: z.array(z.number()) }), { retry: { attempts: 2, base: 1 } })
      .step("reserve", { act: () => ({ list: [7] }) })
      .step("charge", {
        act: ({ input, results }) => {
          seen.push([...input.list, ...results.reserve.list]);
          spoil(input);
          spoil(results.reserve);
          return busy();
        },
        compensate: ({ input }) => spoil(input),
        fallback: {
          name: "invoice",
          act: ({ input, results }) => void seen.push([...input.list, ...results.reserve.list]),
        },
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const run = await amends.start(order, { list: [1] });
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { reserve: { list: [7] } } });
    expect(seen).toEqual([
      [1, 7],
      [1, 7],
      [1, 7],
    ]);
  });

  it("[S-20] a fallback has its own tries, and a wait between them is a due time", async () => {
    const clock = virtualClock();
    const tried: number[] = [];
    const order = saga("order", nothing, { retry: once }).step("charge", {
      act: busy,
      fallback: {
        name: "invoice",
        retry: { attempts: 3, base: "10s", factor: 1 },
        act: ({ attempt }) => {
          tried.push(clock.virtualNowMs());
          return attempt < 3 ? busy() : attempt;
        },
      },
    });
    const amends = await database.amends({ sagas: [order], clock });
    const run = await amends.start(order, {});
    for (let second = 0; second < 25; second++) {
      await amends.worker().runOnce();
      clock.jump(1_000);
    }
    expect(tried.map((at) => at - (tried[0] as number))).toEqual([0, 10_000, 20_000]);
    expect(await run.result()).toMatchObject({ status: "COMPLETED", results: { charge: 3 } });
  });

  it("[S-20] a crash after the step has failed resumes with the fallback, and either name counts as done", async () => {
    const { made, middleware } = calls();
    const [inInvoice, inShip] = [gate(), gate()];
    const hangFirst = (held: typeof inInvoice) => (call: { attempt: number }) => {
      if (call.attempt > 1) return "done";
      void held.pass();
      return forEver();
    };
    const order = saga("order", nothing, { retry: once })
      .step("charge", {
        act: busy,
        compensate: () => undefined,
        fallback: { name: "invoice", act: hangFirst(inInvoice), compensate: () => undefined },
      })
      .step("ship", { act: hangFirst(inShip) });
    const look = await onlooker(database);
    const { first, second, secondClock, lapse } = await pair(database, { sagas: [order], middleware });
    const { id } = await first.start(order, {});
    void first.worker().runOnce();
    await inInvoice.reached;
    expect(await look.history(id)).toEqual([
      "charge act STARTED",
      "charge act FAILED",
      "charge compensate STARTED",
      "charge compensate COMPLETED",
      "invoice act STARTED",
    ]);
    lapse();
    void second.worker().runOnce();
    await inShip.reached;
    const third = await database.amends({ sagas: [order], middleware, clock: secondClock });
    lapse();
    await third.worker().runOnce();
    expect(await (await third.get(id)).result()).toMatchObject({
      status: "COMPLETED",
      results: { charge: "done", ship: "done" },
    });
    expect(made).toEqual(["act charge", "undo charge", "act invoice", "act invoice", "act ship", "act ship"]);
  });

  it("[S-20][S-07] that the fallback takes over is durable before anything of it is called", async () => {
    const { made, middleware } = calls();
    const held = gate();
    const order = saga("order", nothing, { retry: once }).step("charge", {
      act: busy,
      compensate: ({ attempt }) => {
        if (attempt > 1) return undefined;
        void held.pass();
        return forEver();
      },
      fallback: { name: "invoice", act: () => 1 },
    });
    const { first, second, lapse } = await pair(database, { sagas: [order], middleware });
    const { id } = await first.start(order, {});
    void first.worker().runOnce();
    await held.reached;
    expect((await second.inspect(id))?.status).toBe("RUNNING");
    lapse();
    await second.worker().runOnce();
    expect(await (await second.get(id)).result()).toMatchObject({ status: "COMPLETED" });
    // The step itself is not called again: it was given up, and is only taken back.
    expect(made).toEqual(["act charge", "undo charge", "undo charge", "act invoice"]);
  });

  it("[S-20][S-14] where what the step may have done cannot be undone, its fallback is not called", async () => {
    const { made, middleware } = calls();
    const bank = { open: false };
    const order = saga("order", nothing, { retry: once, compensateRetry: once })
      .step("reserve", { act: () => 1, compensate: () => undefined })
      .step("charge", {
        act: busy,
        compensate: () => (bank.open ? undefined : busy()),
        fallback: { name: "invoice", act: () => 1 },
      });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    const run = await amends.start(order, {});
    expect(await run.result()).toMatchObject({
      status: "STALLED",
      step: "charge",
      error: { kind: "exhausted", label: "Error" },
      undoErrors: [{ step: "charge", kind: "exhausted" }],
    });
    expect(made).toEqual(["act reserve", "act charge", "undo charge", "undo reserve"]);
    expect((await amends.inspect(run.id))?.skippable).toEqual(["charge"]);
    bank.open = true;
    await amends.retry(run.id, { reason: "the bank has opened" });
    expect(await run.result()).toMatchObject({ status: "FAILED", step: "charge" });
    expect(made.slice(4)).toEqual(["undo charge"]);
  });

  it("[S-20][S-27] a transactional step was rolled back: its fallback acts at once, and its effects are there once", async () => {
    const { made, middleware } = calls();
    const transaction = transactionOn(database.name);
    const db = await database.open();
    await makeEffects(db);
    const order = saga("order", nothing, { retry: once }).step("book", {
      transaction,
      act: async ({ tx }) => {
        await effect(tx, "booked");
        throw new Terminal("no");
      },
      compensate: () => undefined,
      fallback: { name: "note", transaction, act: ({ tx }) => effect(tx, "noted") },
    });
    const amends = await database.amends({ sagas: [order], middleware });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(made).toEqual(["act book", "act note"]);
    expect(await effects(db)).toEqual(["noted"]);
  });
});

const act = (): number => 1;

it.each([
  [
    "a fallback within a fallback",
    { name: "b", act, fallback: { name: "c", act } },
    "no fallback of its own",
  ],
  ["the name of its step", { name: "a", act }, "already a step of that name"],
  ["the name of another step", { name: "zero", act }, "already a step of that name"],
  ["no name", { act }, "a step's name must be"],
  ["no act", { name: "b" }, "`act` must be a function"],
  ["no object", "b", "must be an object"],
  ["an unknown option", { name: "b", act, compnsate: act }, "no option named compnsate"],
  ["a `when` that is neither a list nor a function", { name: "b", act, when: "x" }, "list of labels"],
  ["a threshold of 0", { name: "b", act, breaker: { threshold: 0 } }, "threshold must be a whole number"],
  ["a reset time of 0", { name: "b", act, breaker: { reset: 0 } }, "breaker.reset"],
  ["an unknown option of the breaker", { name: "b", act, breaker: { treshold: 3 } }, "treshold"],
])("[S-20] %s is refused when the saga is defined", (_, fallback, says) => {
  const define = (): unknown =>
    saga("order", nothing)
      .step("zero", { act })
      .step("a", { act, fallback: fallback as never });
  expect(define).toThrow(AmendsError);
  expect(define).toThrow(says);
});

it("[S-20] a step that is added later cannot have the name of a fallback", () => {
  const order = saga("order", nothing).step("a", { act, fallback: { name: "b", act } });
  expect(() => order.step("b", { act })).toThrow("already a step of that name");
  expect(order.plan.map(({ name }) => name)).toEqual(["a", "b"]);
});
