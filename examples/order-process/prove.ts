/**
 * The order process is run with crashes and failures at its calls: those of its items, its reminders, its shipment and its ends, and
 * those of everything that undoes them. Each completed order is taken back as well, and then the books must be empty. There are
 * many such schedules; this program runs a spread selection of them: raise the numbers to run all.
 */
import { deepEqual, equal } from "node:assert/strict";
import type { Amends } from "amends";
import type { SqliteHandle } from "amends/sqlite";
import { prove, type EndedOutcome, type ProveReport } from "amends/testing";
import { approved, PaymentReceived, placeOrder, rejected } from "./sagas.ts";
import { Shop } from "./shop.ts";

const NOTHING = new Shop().books;

interface World {
  readonly shop: Shop;
  database?: SqliteHandle;
}

/** What is sent to an order. */
type Tell = (amends: Amends<SqliteHandle>, orderId: string) => unknown;

const paid: Tell = (amends) => amends.events.publish(PaymentReceived({ orderId: "o-1", cents: 4_500 }));

/** The row of the order says how its saga ended, and an order that failed leaves nothing behind. */
function isFair({ shop, database }: World, outcome: EndedOutcome<unknown, unknown>): void {
  const [row] = (database as SqliteHandle).prepare("select state from orders").all() as { state: string }[];
  const isCancelled = outcome.status === "FAILED";
  equal(row?.state, isCancelled ? `cancelled at ${String(outcome.step)}` : "shipped");
  if (isCancelled) equal(shop.books, NOTHING);
}

const proveOrder = (
  items: readonly { sku: string; cents: number }[],
  tell: Partial<Record<"decision" | "remind", Tell>>,
  schedules: number,
): Promise<ProveReport> =>
  prove(({ shop }: World) => placeOrder(shop), {
    input: { orderId: "o-1", items: [...items] },
    world: (): World => ({ shop: new Shop() }),
    prepare: (database, world) => {
      world.database = database;
      database.exec("create table orders (id text primary key, state text not null)");
      database.exec("insert into orders values ('o-1', 'placed')");
    },
    tell,
    errs: { reserve: "sold-out" },
    invariant: isFair,
    reversed: ({ shop }) => equal(shop.books, NOTHING),
    schedules,
  });

function say(what: string, { schedules, stalled, withoutUndo }: ProveReport): void {
  console.log(`${what}: proven by ${schedules} schedules; in ${stalled.length} of them a person decides`);
  // A mail cannot be taken back, and an approval is no more than an answer.
  const known = ["remind", "confirm", "approval"];
  deepEqual(
    withoutUndo.filter((step) => !known.includes(step)),
    [],
  );
}

const small = [
  { sku: "lamp", cents: 4_000 },
  { sku: "bulb", cents: 500 },
];
say("a small order", await proveOrder(small, { remind: paid }, 20));

const large = [{ sku: "sofa", cents: 90_000 }];
const yes: Tell = (amends, id) => amends.signal(id, approved, { by: "ann" });
say("a large order", await proveOrder(large, { decision: yes, remind: paid }, 10));

const no: Tell = (amends, id) => amends.signal(id, rejected, { by: "ann", why: "no credit" });
say("a rejected order", await proveOrder(large, { decision: no }, 8));
