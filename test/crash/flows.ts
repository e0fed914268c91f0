/**
 * What scenarios of the event flow have in common: an order over three services, of which one writes in the
 * transaction that it is given, each with its undo, and somebody who listens to the end of it all.
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
import type { FlowTerms } from "../support/flow-invariants.ts";
import { pause, untilOver } from "./office.ts";
import type { Play, Stage } from "./scenario.ts";
import type { World } from "./world.ts";

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
const Told = event("Told", ordered);
const NotTold = event("NotTold", ordered);
/** What handlers send besides their answer. */
export const Noted = event("Noted", ordered);

export const ORDER = "o-1";

/** What a handler is given that a will is interested in. */
export interface FlowCall {
  readonly key: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
  readonly order: string;
}

/** False: the handler answers with err. */
export type Will = (call: FlowCall) => boolean | Promise<boolean>;

export interface Journey {
  readonly wills?: { readonly [name: string]: Will };
  /** How often `ship` is tried, and after how long. */
  readonly shipRetry?: { readonly attempts: number; readonly base: number };
  /** The longest that `ship` may take, in milliseconds. */
  readonly shipDeadline?: number;
  readonly concurrency?: number;
  readonly poll?: number;
  /** How the order is placed; in the caller's own transaction unless said otherwise. */
  place?(stage: Stage): Promise<void>;
  /** What a person does about what is stuck. */
  readonly operate?: (amends: Amends) => Promise<void>;
}

const RETRY = { attempts: 6, base: 20, cap: 40 };

/** As much of a world as a journey needs. */
export type Road = Pick<World, "visit" | "write" | "database">;

export function journey(world: Road, given: Journey): Play {
  const { shipRetry, shipDeadline, concurrency = 1, poll, operate, place = inTransaction(world) } = given;
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
      // The drivers' own `transaction` says no more than this, and would load the driver of the other database.
      ...(locked && { transaction: { dialect: world.database.dialect.name } }),
      handle: async (e: Order, { key, attempt, signal, tx, outbox }: FlowContext) => {
        const will = given.wills?.[name];
        const isFine = await world.visit(name, "handle", { key, attempt, locked }, async () => {
          if (writes !== undefined) await world.write(tx, writes);
          return will ? will({ key, attempt, signal, order: e.order }) : true;
        });
        outbox.append(Noted({ order: e.order }));
        return isFine ? ok(yes({ order: e.order } as never)) : err(no({ order: e.order } as never));
      },
    } as never);
  };
  const reserve = service("reserve", Placed, Reserved, ReserveFailed);
  const charge = service("charge", Reserved, Charged, ChargeFailed);
  const ship = service("ship", Charged, Shipped, ShipFailed, shipRetry);
  const eventSagaOfIt = eventSaga("order", {
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
    eventSaga: eventSagaOfIt,
    handlers: [
      service("unreserve", Unreserve, Unreserved, UndoFailed),
      service("uncharge", Uncharge, Uncharged, UndoFailed),
      service("unship", Unship, Unshipped, UndoFailed),
      service("tell", Done, Told, NotTold),
    ],
    concurrency,
    ...(poll !== undefined && { poll }),
    async run(stage) {
      await place(stage);
      if (!stage.worker.running) await stage.worker.start();
      await untilOver(stage);
      if (!operate) return;
      await operate(stage.amends);
      await untilOver(stage);
    },
    ...(operate && { operate }),
  };
}

const WRITES: ReadonlyMap<string, string> = new Map([
  ["charge", "charged"],
  ["uncharge", "refunded"],
]);

/** What the runs of a play must keep to; undefined where it has none. */
export function termsOf(
  { eventSaga: saga, handlers = [] }: Play,
  ends: readonly FlowStatus[],
): FlowTerms | undefined {
  return saga && { saga, handlers, ends, writes: WRITES, side: Noted.type };
}

interface FlowContext extends Omit<FlowCall, "order"> {
  readonly tx: unknown;
  readonly outbox: { append(...events: readonly object[]): void };
}

/** The order's row of the caller's own and the event are one commit. */
function inTransaction(world: Road): (stage: Stage) => Promise<void> {
  return ({ amends, database }) =>
    database.transaction(async (_, tx) => {
      await world.write(tx, "asked");
      await amends.events.publish(Placed({ order: ORDER }), { tx });
    });
}

/** Deals with everything that needs a person. */
export function dealWith(
  deal: (amends: Amends, id: string) => Promise<unknown>,
): (amends: Amends) => Promise<void> {
  return async (amends) => {
    const { items } = await amends.attention.list();
    for (const { id } of items) await deal(amends, id);
  };
}

/** Waits until the run of the order is no longer going forward; `turn` may help. */
export async function untilTurned(world: World, turn: () => Promise<void>): Promise<void> {
  const isForward = async (): Promise<boolean> => (await world.flowStatus()) === "running";
  while (await isForward()) {
    await turn();
    await pause();
  }
}
