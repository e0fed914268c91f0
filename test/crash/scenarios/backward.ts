/** Sagas that turn back and make amends. */
import { err, saga, Terminal } from "amends";
import type { TransactionKind } from "amends/sagas";
import { anything, ID, type Scenario } from "../scenario.ts";
import { untilStopped } from "../world.ts";

const nothing = (): void => undefined;

const declined: Scenario = {
  name: "declined",
  title:
    "[S-06][S-10][S-11][S-12] a saga that has turned back stays turned back, and everything that may have happened is undone in reverse",
  ends: ["FAILED"],
  play(world) {
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
    "[S-14][S-06] an undo that cannot succeed stalls the saga until a person lets it try again, also over a crash",
  ends: ["FAILED"],
  play(world) {
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", {
        act: nothing,
        compensate: () => {
          if (!world.mended) throw new Terminal("the bank is closed");
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
        world.mend();
        await amends.retry(ID, reason);
        await (await amends.get(ID)).result();
      },
      async operate(amends) {
        world.mend();
        await amends.retry(ID, reason);
      },
    };
  },
};

const transactional: Scenario = {
  name: "transactional",
  title: "[S-27][S-11] what a transactional step writes, and what its undo writes, is there exactly once",
  ends: ["FAILED"],
  play(world) {
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
          .map((entry) => `S-27: ${entry} is there ${ledger.get(entry) ?? 0} times`);
      },
    };
  },
};

const overdue: Scenario = {
  name: "overdue",
  title: "[S-21][S-12] a step whose time is up is undone once its call is over or its lease has lapsed",
  ends: ["FAILED"],
  play() {
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

export const backward: readonly Scenario[] = [declined, stalled, transactional, overdue];
