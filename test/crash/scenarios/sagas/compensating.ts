/** Sagas that fail and are undone. */
import { err, saga, Terminal } from "amends";
import type { TransactionKind } from "amends/sagas";
import { anything, ID, type Scenario } from "../scenario.ts";
import { untilStopped } from "../../external-world/world.ts";

const nothing = (): void => undefined;

const declined: Scenario = {
  name: "declined",
  title:
    "[S-06][S-10][S-11][S-12] a saga that compensates never goes forward again, and every step that may have happened is undone in reverse order",
  ends: ["FAILED"],
  workload(world) {
    const order = saga("order", anything, { compensateRetry: { attempts: 4, base: 10, cap: 10 } })
      .step("reserve", { act: () => "r", compensate: (call) => world.emit(call, "released") })
      .step("charge", { act: () => "c", compensate: (call) => world.failFirst(1, call) })
      .step("pack", { act: () => "p", compensate: nothing })
      .step("ship", { act: () => err("no-carrier"), compensate: nothing });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

const stalled: Scenario = {
  name: "stalled",
  title:
    "[S-14][S-06] an undo that cannot succeed stalls the saga until an operator retries it, also across a crash",
  ends: ["FAILED"],
  workload(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: nothing,
        compensate: () => {
          if (!world.isRepaired) throw new Terminal("the bank is closed");
        },
      })
      .step("ship", { act: () => err("no-carrier") });
    const reason = { reason: "the bank has opened" };
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        const outcome = await (await amends.start(order, {}, { id: ID })).result();
        if (outcome.status !== "STALLED") return;
        world.repair();
        await amends.retry(ID, reason);
        await (await amends.get(ID)).result();
      },
      async operate(amends) {
        world.repair();
        await amends.retry(ID, reason);
      },
    };
  },
};

const transactional: Scenario = {
  name: "transactional",
  title: "[S-27][S-11] the writes of a transactional step and of its undo are committed exactly once",
  ends: ["FAILED"],
  workload(world) {
    const transaction: TransactionKind<unknown> = { dialect: world.database.dialect.name };
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("book", {
        transaction,
        act: async (call) => {
          await world.write(call.tx, "booked");
          world.emit(call, "booked");
        },
        compensate: ({ tx }) => world.write(tx, "unbooked"),
      })
      .step("ship", { act: () => err("no-carrier") });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
      async check(ended) {
        const ledger = await world.ledger();
        const times = ended === undefined ? 0 : 1;
        return ["booked", "unbooked"]
          .filter((entry) => (ledger.get(entry) ?? 0) !== times)
          .map((entry) => `S-27: the ledger contains ${entry} ${ledger.get(entry) ?? 0} times`);
      },
    };
  },
};

const overdue: Scenario = {
  name: "overdue",
  title:
    "[S-21][S-12] a step that exceeds its deadline is undone after its call has ended or its lease has expired",
  ends: ["FAILED"],
  workload() {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: ({ signal }) => untilStopped(signal), compensate: nothing, deadline: 30 });
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        await (await amends.start(order, {}, { id: ID })).result();
      },
    };
  },
};

export const compensating: readonly Scenario[] = [declined, stalled, transactional, overdue];
