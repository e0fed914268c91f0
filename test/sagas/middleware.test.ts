import { err, saga, type Middleware, type StepCall } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { transactionOn } from "./support/effects-table.ts";
import { gate } from "./support/gate.ts";
import { pair } from "./support/pair.ts";

const nothing = z.object({});

onEachDatabase((database) => {
  checkInvariantsAfterEach(database);

  it("[S-32] middleware wraps every act and every undo, the first one outermost", async () => {
    const order: string[] = [];
    const wrap =
      (name: string): Middleware =>
      async ({ action, step, attempt }, next) => {
        order.push(`${name}(${action} ${step} ${attempt}`);
        try {
          return await next();
        } finally {
          order.push(`)${name}`);
        }
      };
    const chain = saga("chain", nothing, { retry: { base: "1ms" } })
      .step("one", { act: () => void order.push("act"), compensate: () => void order.push("undo") })
      .step("two", {
        act: ({ attempt }) => {
          if (attempt === 1) throw new Error("busy");
          return err("no");
        },
      });
    const amends = await database.amends({ sagas: [chain], middleware: [wrap("A"), wrap("B")] });
    await database.worker(amends);
    await (await amends.start(chain, {})).result();
    expect(order).toEqual([
      "A(act one 1",
      "B(act one 1",
      "act",
      ")B",
      ")A",
      "A(act two 1",
      "B(act two 1",
      ")B",
      ")A",
      "A(act two 2",
      "B(act two 2",
      ")B",
      ")A",
      "A(compensate one 1",
      "B(compensate one 1",
      "undo",
      ")B",
      ")A",
    ]);
  });

  it("[S-32] in recovery too, and in a transactional step", async () => {
    const calls: StepCall[] = [];
    const held = gate();
    const middleware: Middleware[] = [(call, next) => (calls.push(call), next())];
    const chain = saga("chain", nothing)
      .step("one", { act: ({ attempt }) => (attempt === 1 ? held.pass() : undefined) })
      .step("two", { transaction: transactionOn(database.name), act: () => 2 });
    const { first, second, lapse } = await pair(database, { sagas: [chain] }, { sagas: [chain], middleware });
    await first.start(chain, {}, { id: "c-1" });
    const lost = first.worker().runOnce();
    await held.reached;
    lapse();
    await second.worker().runOnce();
    held.open();
    await lost;
    expect(calls).toEqual([
      { sagaId: "c-1", saga: "chain", step: "one", action: "act", attempt: 2, key: "c-1:one:act" },
      { sagaId: "c-1", saga: "chain", step: "two", action: "act", attempt: 1, key: "c-1:two:act" },
    ]);
  });

  it("[S-32] what middleware returns is the outcome, and what it throws is the failure", async () => {
    const chain = saga("chain", z.object({ how: z.string() })).step("one", { act: () => "plain" });
    const middleware: Middleware[] = [
      async ({ sagaId }, next) => {
        const value = await next();
        if (sagaId === "thrown") throw new RangeError("from the middleware");
        return sagaId === "refused" ? err("by policy") : `wrapped ${String(value)}`;
      },
    ];
    const amends = await database.amends({ sagas: [chain], middleware });
    const outcome = async (id: string): Promise<unknown> => {
      const run = await amends.start(chain, { how: id }, { id });
      await amends.worker().runOnce();
      return amends.inspect(run.id);
    };
    expect(await outcome("changed")).toMatchObject({
      status: "COMPLETED",
      results: { one: "wrapped plain" },
    });
    expect(await outcome("refused")).toMatchObject({ status: "FAILED", error: { value: "by policy" } });
    expect(await outcome("thrown")).toMatchObject({ status: "RUNNING", owner: undefined });
  });
});
