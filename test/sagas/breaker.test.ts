import { err, saga, type Amends, type AnySaga } from "amends";
import { virtualClock, type VirtualClock } from "amends/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { booksHold } from "./support/books-hold.ts";
import { gate } from "./support/gate.ts";

const input = z.object({ how: z.enum(["works", "throws", "declined", "hangs"]).default("works") });

/** A card service, and a saga that charges through it or, where that fails, sends an invoice. */
function shop(breaker: object = {}) {
  const calls: string[] = [];
  const hanging: (() => void)[] = [];
  const order = saga("order", input, { retry: { attempts: 1 } })
    .step("charge", {
      act: ({ input: { how } }) => {
        calls.push("charge");
        if (how === "throws") throw new Error("down");
        if (how === "declined") return err("declined");
        if (how === "works") return "card";
        return new Promise<string>((resolve) => hanging.push(() => resolve("card")));
      },
      compensate: () => void calls.push("refund"),
      fallback: {
        name: "invoice",
        act: () => "paper",
        when: ({ label }) => label !== "ignored",
        breaker: { threshold: 3, reset: "30s", ...breaker },
      },
    })
    .step("ship", { act: ({ results }) => results.charge });
  return { order, calls, hanging };
}

type How = z.input<typeof input>["how"];

interface Till {
  readonly amends: Amends;
  readonly clock: VirtualClock;
  readonly calls: string[];
  readonly hanging: (() => void)[];
  /** Starts a saga, runs it as far as it goes, and says how it was paid; undefined where it is not over. */
  pay(how: How): Promise<unknown>;
}

async function open(database: TestDatabase, breaker: object = {}): Promise<Till> {
  const { order, calls, hanging } = shop(breaker);
  const clock = virtualClock();
  const amends = await database.amends({ sagas: [order], clock });
  return {
    amends,
    clock,
    calls,
    hanging,
    async pay(how) {
      const run = await amends.start(order, { how });
      const work = amends.worker().runOnce();
      if (how === "hangs") {
        await expect.poll(() => hanging.length).toBeGreaterThan(0);
        return undefined;
      }
      await work;
      const outcome = await run.result();
      return outcome.status === "COMPLETED" ? outcome.results.charge : outcome.status;
    },
  };
}

onEachDatabase((database) => {
  booksHold(database);

  it("[S-20] after so many failures in a row the step is no longer called, and its fallback acts at once", async () => {
    const { pay, calls, amends } = await open(database);
    for (let time = 0; time < 3; time++) expect(await pay("throws")).toBe("paper");
    expect(calls).toEqual(["charge", "refund", "charge", "refund", "charge", "refund"]);
    expect(await pay("works")).toBe("paper");
    expect(calls).toHaveLength(6);
    const [last] = await amends.list({ limit: 1 });
    const view = await amends.inspect(last?.id ?? "");
    expect(view?.timeline.map(({ name, status, note }) => [name, status, note])).toEqual(
      expect.arrayContaining([
        ["charge", "FAILED", "CircuitOpen, invoice instead"],
        ["invoice", "COMPLETED", undefined],
      ]),
    );
    // It was never called: there is nothing to undo.
    expect(view?.timeline.some(({ action }) => action === "compensate")).toBe(false);
  });
});
void gate;
export type { AnySaga };
