/**
 * The workload of the event flow scenarios: an order over three handlers with a compensation each, of which one writes
 * in its transaction, and a handler for the event of the completed order.
 */
import { err, ok, type Amends } from "amends";
import {
  event,
  eventSaga,
  handler,
  step,
  type AnyEvent,
  type AnyHandler,
  type FlowStatus,
} from "amends/events";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { FlowExpectations } from "../../checkers/flow-invariants.ts";
import { pause, untilNothingOpen } from "../../harness/open-work.ts";
import type { Workload, RunContext } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";

interface Order {
  readonly order: string;
}

const ordered: StandardSchemaV1<Order, Order> = {
  "~standard": { version: 1, vendor: "amends-test", validate: (value) => ({ value: value as Order }) },
};

export const Placed = event("Placed", ordered);
export const Reserved = event("Reserved", ordered);
const ReserveFailed = event("ReserveFailed", ordered);
export const Charged = event("Charged", ordered);
const ChargeFailed = event("ChargeFailed", ordered);
const Shipped = event("Shipped", ordered);
const ShipFailed = event("ShipFailed", ordered);
const Unreserve = event("Unreserve", ordered);
const Uncharge = event("Uncharge", ordered);
const Unship = event("Unship", ordered);
const Unreserved = event("Unreserved", ordered);
const Uncharged = event("Uncharged", ordered);
const Unshipped = event("Unshipped", ordered);
const UndoFailed = event("UndoFailed", ordered);
const Done = event("Done", ordered);
const Failed = event("Failed", ordered);
const Notified = event("Notified", ordered);
const NotifyFailed = event("NotifyFailed", ordered);
/** The side event that every handler appends to the outbox. */
export const Noted = event("Noted", ordered);

export const ORDER = "o-1";

/** The part of a handler's context that a behavior uses. */
export interface FlowCall {
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly order: string;
}

/** A handler's behavior. False: the handler returns err. */
export type Behavior = (call: FlowCall) => boolean | Promise<boolean>;

export interface OrderWorkloadOptions {
  readonly behaviors?: { readonly [name: string]: Behavior };
  /** The retry options of `ship`. */
  readonly shipRetry?: { readonly attempts: number; readonly base: number };
  /** The deadline of `ship`, in milliseconds. */
  readonly shipDeadline?: number;
  readonly concurrency?: number;
  readonly poll?: number;
  /** Publishes the order. Default: in the caller's transaction. */
  publishOrder?(context: RunContext): Promise<void>;
  /** The operator's action on attention items. */
  readonly operate?: (amends: Amends) => Promise<void>;
}

const RETRY = { attempts: 6, base: 20, cap: 40 };

/** The part of the world that this workload uses. */
export type OrderWorld = Pick<World, "callForEntry" | "write" | "database">;

export function orderWorkload(world: OrderWorld, given: OrderWorkloadOptions): Workload {
  const {
    shipRetry,
    shipDeadline,
    concurrency = 1,
    poll,
    operate,
    publishOrder = inTransaction(world),
  } = given;
  const service = (
    name: string,
    on: AnyEvent,
    yes: AnyEvent,
    no: AnyEvent,
    retry: object = RETRY,
  ): AnyHandler => {
    const writes = WRITES.get(name);
    const locked = writes !== undefined;
    return handler(name, {
      on,
      ok: yes,
      err: no,
      retry,
      // The drivers' own `transaction` has the same value, but would load the driver of the other database.
      ...(locked && { transaction: { dialect: world.database.dialect.name } }),
      handle: async (e: Order, { key, attempt, signal, tx, outbox }: FlowContext) => {
        const behavior = given.behaviors?.[name];
        const isFine = await world.callForEntry(name, "handle", { key, attempt, locked }, async () => {
          if (writes !== undefined) await world.write(tx, writes);
          return behavior ? behavior({ key, attempt, signal, order: e.order }) : true;
        });
        outbox.append(Noted({ order: e.order }));
        return isFine ? ok(yes({ order: e.order } as never)) : err(no({ order: e.order } as never));
      },
    } as never);
  };
  const reserve = service("reserve", Placed, Reserved, ReserveFailed);
  const charge = service("charge", Reserved, Charged, ChargeFailed);
  const ship = service("ship", Charged, Shipped, ShipFailed, shipRetry);
  const orderSaga = eventSaga("order", {
    trigger: Placed,
    correlate: "order",
    steps: [
      step("reserving", reserve, { compensation: Unreserve }),
      step("charging", charge, { compensation: Uncharge }),
      step("shipping", ship, {
        compensation: Unship,
        ...(shipDeadline !== undefined && { deadline: shipDeadline }),
      }),
    ] as never,
    onCompleted: (order) => Done({ order }),
    onFailed: (order) => Failed({ order }),
  });
  return {
    eventSaga: orderSaga,
    handlers: [
      service("unreserve", Unreserve, Unreserved, UndoFailed),
      service("uncharge", Uncharge, Uncharged, UndoFailed),
      service("unship", Unship, Unshipped, UndoFailed),
      service("notify", Done, Notified, NotifyFailed),
    ],
    concurrency,
    ...(poll !== undefined && { poll }),
    async run(context) {
      await publishOrder(context);
      if (!context.worker.running) await context.worker.start();
      await untilNothingOpen(context);
      if (!operate) return;
      await operate(context.amends);
      await untilNothingOpen(context);
    },
    ...(operate && { operate }),
  };
}

const WRITES: ReadonlyMap<string, string> = new Map([
  ["charge", "charged"],
  ["uncharge", "refunded"],
]);

/** What the checker expects of the runs of a workload; undefined without an event saga. */
export function flowExpectations(
  { eventSaga: saga, handlers = [] }: Workload,
  ends: readonly FlowStatus[],
): FlowExpectations | undefined {
  return saga && { saga, handlers, ends, writes: WRITES, side: Noted.type };
}

interface FlowContext extends Omit<FlowCall, "order"> {
  readonly tx: unknown;
  readonly outbox: { append(...events: readonly object[]): void };
}

/** The caller's row and the event are one commit. */
function inTransaction(world: OrderWorld): (context: RunContext) => Promise<void> {
  return ({ amends, database }) =>
    database.transaction(async (_, tx) => {
      await world.write(tx, "asked");
      await amends.events.publish(Placed({ order: ORDER }), { tx });
    });
}

/** Applies an action to every attention item. */
export function forEachAttentionItem(
  action: (amends: Amends, id: string) => Promise<unknown>,
): (amends: Amends) => Promise<void> {
  return async (amends) => {
    const { items } = await amends.attention.list();
    for (const { id } of items) await action(amends, id);
  };
}

/** Calls `help` until the run of the order compensates. */
export async function untilCompensating(world: World, help: () => Promise<void>): Promise<void> {
  const isForward = async (): Promise<boolean> => (await world.flowStatus()) === "running";
  while (await isForward()) {
    await help();
    await pause();
  }
}
