/** What follows the end of a saga: a function in the transaction of the end, and a call in the outbox. */
import { err, saga, type AnySaga, type SagaStatus } from "amends";
import { defineCall } from "amends/calls";
import type { TransactionKind } from "amends/sagas";
import { anything, ID, type Scenario } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";
import { countRows } from "../outbox/erasure-workload.ts";
import { nothing, runToEnd, soon } from "./run-to-end.ts";

/** An order whose row says how it ended. What follows an end fails once, after it has written. */
function withEnds(world: World, charge: () => unknown): AnySaga {
  const transaction: TransactionKind<unknown> = { dialect: world.database.dialect.name };
  return saga("order", anything)
    .step("reserve", { act: nothing, compensate: nothing })
    .step("charge", { act: charge, compensate: nothing })
    .onCompleted({
      transaction,
      retry: soon,
      act: async ({ tx, attempt }) => {
        await world.write(tx, "COMPLETED");
        if (attempt === 1) throw new Error("the table is locked");
      },
    })
    .onFailed({
      transaction,
      retry: soon,
      act: async ({ tx, attempt }) => {
        await world.write(tx, "FAILED");
        if (attempt === 1) throw new Error("the table is locked");
      },
    });
}

/** At any moment, the application's row says that the saga has ended exactly when it has, and how. */
async function rowsAgree(world: World, status: SagaStatus | undefined): Promise<readonly string[]> {
  const ledger = await world.ledger();
  return ["COMPLETED", "FAILED"]
    .filter((end) => (ledger.get(end) ?? 0) !== (status === end ? 1 : 0))
    .map((end) => `S-46: the saga is ${status}, and ${ledger.get(end) ?? 0} rows say ${end}`);
}

function ending(name: string, title: string, ends: "COMPLETED" | "FAILED", charge: () => unknown): Scenario {
  return {
    name,
    title,
    ends: [ends],
    workload(world) {
      const order = withEnds(world, charge);
      return { sagas: [order], run: runToEnd(order), holds: (status) => rowsAgree(world, status) };
    },
  };
}

const completed = ending(
  "end-completed",
  "[S-46][S-27] what follows the end is committed exactly once, in the commit that completes the saga",
  "COMPLETED",
  nothing,
);

const failed = ending(
  "end-failed",
  "[S-46][S-10] the application's row says that the order failed exactly when the saga does, after all undos",
  "FAILED",
  () => err("declined"),
);

const cancelledEarly: Scenario = {
  name: "end-cancelled-early",
  title:
    "[S-46][S-39][S-23] a saga that is cancelled before it begins commits what follows its end together with its end",
  ends: ["FAILED"],
  workload(world) {
    const order = withEnds(world, nothing);
    const cancel = { reason: "changed her mind" };
    return {
      sagas: [order],
      async run({ amends, worker }) {
        await worker.start();
        const run = await amends.start(order, {}, { id: ID, delay: "1h", attributes: { tenant: "acme" } });
        await amends.cancel(ID, cancel);
        await run.result();
      },
      async beforeRecovery(amends) {
        if ((await amends.inspect(ID))?.status === "PENDING") await amends.cancel(ID, cancel);
      },
      holds: (status) => rowsAgree(world, status),
    };
  },
};

const called: Scenario = {
  name: "end-called",
  title: "[S-46] the commit of the end puts the call that follows it into the outbox, once",
  ends: ["FAILED"],
  isTimed: true,
  workload(world) {
    const tell = defineCall("tell", { schema: anything, handle: nothing });
    const order = saga("order", anything)
      .step("reserve", { act: nothing, compensate: nothing })
      .step("charge", { act: () => err("declined") })
      .onFailed({ call: tell, input: ({ sagaId }) => ({ order: sagaId }) });
    return {
      sagas: [order],
      parts: () => ({ calls: [tell] }),
      run: runToEnd(order),
      async holds(status) {
        const found = await countRows(world.database, "outbox", "name = 'tell'");
        const isRight = found === (status === "FAILED" ? 1 : 0);
        return isRight ? [] : [`S-46: the saga is ${status}, and ${found} calls are in the outbox`];
      },
    };
  },
};

export const endings: readonly Scenario[] = [completed, failed, cancelledEarly, called];
