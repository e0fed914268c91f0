import { err, saga } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { once } from "./support/busy.ts";
import { gate, type Gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

type How = "works" | "throws" | "declined" | "hangs";

/** A till: charges by card, or, where that fails, by invoice. What the card service does is said before each. */
interface Till {
  readonly clock: VirtualClock;
  /** How often the card service was called. */
  calls(): number;
  /** Runs one saga to its end, and says how it was paid, or how it ended. */
  pay(how: How): Promise<unknown>;
  /** Starts one whose call hangs at the returned gate. */
  hang(): Promise<{ readonly held: Gate; readonly over: Promise<unknown> }>;
  timeline(): Promise<readonly string[]>;
}

async function openTill(
  database: TestDatabase,
  breaker: { readonly exclude?: readonly string[] } = {},
): Promise<Till> {
  let count = 0;
  let last = "";
  const input = z.object({ how: z.enum(["works", "throws", "declined", "hangs"]) });
  let held: Gate = gate();
  const order = saga("order", input, { retry: once }).step("charge", {
    act: async ({ input: { how } }) => {
      count++;
      if (how === "hangs") await held.pass();
      if (how === "throws") throw new Error("down");
      return how === "declined" ? err("declined") : "card";
    },
    compensate: () => undefined,
    fallback: {
      name: "invoice",
      when: ["Error", "declined"],
      act: () => "paper",
      breaker: { threshold: 3, reset: "30s", ...breaker },
    },
  });
  const clock = virtualClock();
  const amends = await database.amends({ sagas: [order], clock });
  await database.worker(amends);
  const begin = async (how: How): Promise<() => Promise<unknown>> => {
    const run = await amends.start(order, { how });
    last = run.id;
    return async () => {
      const outcome = await run.result();
      return outcome.status === "COMPLETED" ? outcome.results.charge : outcome.status;
    };
  };
  return {
    clock,
    calls: () => count,
    pay: async (how) => (await begin(how))(),
    async hang() {
      held = gate();
      const mine = held;
      const end = await begin("hangs");
      await mine.reached;
      return { held: mine, over: end() };
    },
    async timeline() {
      const lines = (await amends.inspect(last))?.timeline ?? [];
      return lines
        .filter(({ kind }) => kind === "step")
        .map(({ name, action, status, note }) => [name, action, status, note].filter(Boolean).join(" "));
    },
  };
}

/** So many failures in a row. */
async function fail({ pay }: Till, times: number): Promise<void> {
  for (let time = 0; time < times; time++) expect(await pay("throws")).toBe("paper");
}

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-20] after so many failures in a row the step is not called, and its fallback acts at once", async () => {
    const till = await openTill(database);
    await fail(till, 2);
    expect(await till.pay("works")).toBe("card");
    await fail(till, 3);
    expect(till.calls()).toBe(6);
    expect(await till.pay("works")).toBe("paper");
    expect(till.calls()).toBe(6);
    // It was never called: there is nothing to undo.
    expect(await till.timeline()).toEqual([
      "charge act STARTED",
      "charge act FAILED CircuitOpen, invoice instead",
      "invoice act STARTED",
      "invoice act COMPLETED",
    ]);
  });

  it("[S-20] when the reset time has passed one call may try, and where it succeeds all others follow", async () => {
    const till = await openTill(database);
    await fail(till, 3);
    till.clock.jump(29_999);
    expect(await till.pay("works")).toBe("paper");
    till.clock.jump(1);
    expect(await till.pay("works")).toBe("card");
    expect(await till.pay("works")).toBe("card");
    await fail(till, 2);
    expect(await till.pay("works")).toBe("card");
  });

  it("[S-20] a probe that fails keeps it open for as long again", async () => {
    const till = await openTill(database);
    await fail(till, 3);
    till.clock.jump(30_000);
    expect(await till.pay("throws")).toBe("paper");
    expect(till.calls()).toBe(4);
    till.clock.jump(29_999);
    expect(await till.pay("works")).toBe("paper");
    till.clock.jump(1);
    expect(await till.pay("works")).toBe("card");
    expect(till.calls()).toBe(5);
  });

  it("[S-20] exactly one call probes; whoever comes meanwhile takes the fallback", async () => {
    const till = await openTill(database);
    await fail(till, 3);
    till.clock.jump(30_000);
    const probe = await till.hang();
    expect(await till.pay("works")).toBe("paper");
    expect(await till.pay("works")).toBe("paper");
    expect(till.calls()).toBe(4);
    probe.held.open();
    expect(await probe.over).toBe("card");
    expect(await till.pay("works")).toBe("card");
  });

  it("[S-20] what was called before it opened and comes back later changes nothing", async () => {
    const till = await openTill(database);
    const early = await till.hang();
    await fail(till, 3);
    early.held.open();
    expect(await early.over).toBe("card");
    expect(await till.pay("works")).toBe("paper");
  });

  it("[S-20] errors that are excluded do not count, and a probe that ends in one has been answered", async () => {
    const till = await openTill(database, { exclude: ["declined"] });
    await fail(till, 2);
    for (let time = 0; time < 5; time++) expect(await till.pay("declined")).toBe("paper");
    expect(till.calls()).toBe(7);
    // Neither do they make up for those that count.
    await fail(till, 1);
    expect(await till.pay("works")).toBe("paper");
    expect(till.calls()).toBe(8);
    till.clock.jump(30_000);
    expect(await till.pay("declined")).toBe("paper");
    expect(await till.pay("works")).toBe("card");
  });

  it("[S-20] a retry that finds the circuit open gives way, and its earlier tries are undone first", async () => {
    const made: string[] = [];
    const order = saga("order", nothing).step("charge", {
      retry: { attempts: 8, base: 1, cap: 1 },
      act: ({ attempt }) => {
        made.push(`charge ${attempt}`);
        throw new Error("down");
      },
      compensate: () => void made.push("refund"),
      fallback: {
        name: "invoice",
        act: () => void made.push("invoice"),
        breaker: { threshold: 2, reset: "1h" },
      },
    });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    expect(await (await amends.start(order, {})).result()).toMatchObject({ status: "COMPLETED" });
    expect(made).toEqual(["charge 1", "charge 2", "refund", "invoice"]);
  });

  it("[S-20][S-22] what could not give way to its fallback is called although the circuit is open", async () => {
    const order = saga("order", nothing, { retry: { attempts: 1, base: 1, cap: 1 } })
      .pivot("ship", { act: () => 1 })
      .step("mail", {
        act: ({ attempt }) => {
          if (attempt < 4) throw new Error("down");
          return attempt;
        },
        fallback: { name: "letter", act: () => "letter", breaker: { threshold: 2, reset: "1h" } },
      });
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    // Its first try may have happened, and nothing takes it back: it is tried until it succeeds.
    const first = await (await amends.start(order, {})).result();
    expect(first).toMatchObject({ status: "COMPLETED", results: { mail: 4 } });
  });

  it("[S-20] a probe that is interrupted has found out nothing: the next call may try", async () => {
    const held = gate();
    const how = { call: 0 };
    const order = saga("order", nothing, { retry: once }).step("charge", {
      act: ({ signal }) => {
        how.call++;
        if (how.call === 1) throw new Error("down");
        if (how.call > 2) return "card";
        void held.pass();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stop"))));
      },
      fallback: { name: "invoice", act: () => "paper", breaker: { threshold: 1, reset: "30s" } },
    });
    const clock = virtualClock();
    const amends = await database.amends({ sagas: [order], clock });
    const pay = async (): Promise<unknown> => {
      const run = await amends.start(order, {});
      await amends.worker().runOnce();
      return run.result();
    };
    await pay();
    clock.jump(30_000);
    const probing = await amends.start(order, {});
    const work = amends.worker().runOnce();
    await held.reached;
    await probing.cancel();
    await work;
    expect(await probing.result()).toMatchObject({ status: "FAILED", error: { kind: "cancelled" } });
    expect(await pay()).toMatchObject({ status: "COMPLETED", results: { charge: "card" } });
  });

  it("[S-20] each saga has breakers of its own: a step of the same name in another one is called", async () => {
    const withCharge = (name: string, act: () => string) =>
      saga(name, nothing, { retry: once }).step("charge", {
        act,
        fallback: { name: "invoice", act: () => "paper", breaker: { threshold: 1, reset: "1h" } },
      });
    const broken = withCharge("broken", () => {
      throw new Error("down");
    });
    const healthy = withCharge("healthy", () => "card");
    const amends = await database.amends({ sagas: [broken, healthy], clock: virtualClock() });
    await database.worker(amends);
    expect(await (await amends.start(broken, {})).result()).toMatchObject({ results: { charge: "paper" } });
    expect(await (await amends.start(healthy, {})).result()).toMatchObject({ results: { charge: "card" } });
  });

  it("[S-20] each process has breakers of its own: what one cannot reach another may", async () => {
    const down = new Set<string>();
    const orderAt = (place: string) =>
      saga("order", nothing, { retry: once }).step("charge", {
        act: () => {
          if (down.has(place)) throw new Error("down");
          return place;
        },
        fallback: { name: "invoice", act: () => "paper", breaker: { threshold: 1, reset: "1h" } },
      });
    const [here, there] = [orderAt("here"), orderAt("there")];
    const { first, second } = await pair(database, { sagas: [here] }, { sagas: [there] });
    down.add("here");
    const run = await first.start(here, {});
    await first.worker().runOnce();
    expect(await run.result()).toMatchObject({ results: { charge: "paper" } });
    const other = await second.start(there, {});
    await second.worker().runOnce();
    expect(await other.result()).toMatchObject({ results: { charge: "there" } });
  });
});
