/**
 * A process that is gone at any durable point: from there on nothing that it does reaches the database. Another one
 * finishes its work once the leases have lapsed, and in the end the tables are the same as if nothing had happened.
 */
import { Amends } from "amends";
import type { EventValue, Subscriber } from "amends/events";
import { virtualClock } from "amends/testing";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { withCrashPoints, type CrashPoint } from "../crash/harness/crash-points.ts";
import { LEASE_MS } from "../sagas/support/pair.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { convention, Registered, type Convention, type Wills } from "./support/convention.ts";
import { sent, waitFor } from "./support/flow.ts";
import { order, Placed } from "./support/order.ts";

const forEver = (): Promise<never> => new Promise<never>(() => undefined);

/** A database that answers no more once the process is gone. */
function mortal(
  inner: Database,
  dieAt: string | undefined,
  points: string[],
): { db: Database; gone: Promise<void> } {
  let die: () => void = () => undefined;
  let isGone = false;
  const gone = new Promise<void>((resolve) => (die = resolve));
  const atPoint = async ({ name, locked }: CrashPoint): Promise<void> => {
    points.push(name);
    if (isGone || name === dieAt) {
      isGone = true;
      die();
      // A transaction that its process leaves behind is rolled back by the server.
      if (locked) throw new Error("gone");
      await forEver();
    }
  };
  const probed = withCrashPoints(inner, atPoint);
  const db: Database = {
    ...probed,
    query: (statement) => (isGone ? forEver() : probed.query(statement)),
    batch: (statements) => (isGone ? forEver() : probed.batch(statements)),
    transaction: (work, foreign) => (isGone ? forEver() : probed.transaction(work, foreign)),
  };
  return { db, gone };
}

/** A saga over events whose process id is c-1. */
interface Made extends Pick<Convention, "saga" | "calls"> {
  readonly undoers: readonly Subscriber[];
  readonly trigger: EventValue;
}

async function play(
  database: TestDatabase,
  make: () => Made,
  end: string,
  dieAt: string | undefined,
): Promise<{ points: string[]; rows: string[]; calls: string[] }> {
  const points: string[] = [];
  const made = make();
  const options = { events: [made.saga, ...made.undoers] };
  const { db, gone } = mortal(await database.open({ clock: virtualClock() }), dieAt, points);
  const first = new Amends({ ...options, database: db });
  // A worker that begins writes that it is there: the process may be gone before it has begun.
  const started = first.worker({ poll: "1h" }).start();
  const published = started.then(() => first.events.publish(made.trigger));
  const clock = virtualClock();
  const second = await database.amends({ ...options, clock });
  const isOver = async (): Promise<boolean> =>
    (await second.events.runs(made.saga, "c-1"))[0]?.status === end;
  if (dieAt === undefined) await published.then(() => waitFor(isOver));
  else {
    // How often it looks for work is not always the same: a point that it does not come to is no crash.
    await Promise.race([gone, published.then(() => waitFor(isOver))]);
    clock.jump(LEASE_MS + 1);
    await database.worker(second);
    const [run] = await second.events.runs(made.saga, "c-1");
    if (run) await waitFor(isOver);
  }
  const look = await database.open();
  return { points, rows: await sent(look), calls: made.calls };
}

const chain = (wills: Wills): Made => ({ ...convention(wills), trigger: Registered({ srn: "c-1" }) });
const branching = (wills: Parameters<typeof order>[0]): Made => ({
  ...order(wills),
  trigger: Placed({ orderId: "c-1" }),
});

onEachDatabase((database) => {
  /** Steps beside each other end in any order. */
  it(
    "[F-24][F-08] a process gone at any durable point of a run that branches and fans in loses nothing and repeats nothing",
    { timeout: 120_000 },
    async () => {
      const make = (): Made => branching({ ship: "err" });
      const whole = await play(database, make, "failed", undefined);
      await database.forget();
      expect(whole.points.length).toBeGreaterThan(5);
      for (const point of whole.points) {
        const { rows, calls } = await play(database, make, "failed", point);
        const none: Pick<typeof whole, "rows" | "calls"> = { rows: [], calls: [] };
        const wanted = rows.length > 0 ? whole : none;
        expect([point, ...rows.toSorted()]).toEqual([point, ...wanted.rows.toSorted()]);
        expect([...new Set(calls)].toSorted()).toEqual([...new Set(wanted.calls)].toSorted());
        // Two handlers may run beside each other when the process is gone.
        expect(calls.length).toBeLessThanOrEqual(wanted.calls.length + 2);
        await database.forget();
      }
    },
  );

  const scenarios: readonly (readonly [string, () => Made, string])[] = [
    ["completes", () => chain({}), "completed"],
    ["turns back and undoes what was done", () => chain({ tables: "err" }), "failed"],
  ];
  for (const [name, make, end] of scenarios) {
    it(
      `[F-07][F-08][F-17] a process gone at any durable point of a run that ${name} loses nothing and repeats nothing in the tables`,
      { timeout: 120_000 },
      async () => {
        const whole = await play(database, make, end, undefined);
        await database.forget();
        expect(whole.points.length).toBeGreaterThan(5);
        let unpublished = 0;
        for (const point of whole.points) {
          const { rows, calls } = await play(database, make, end, point);
          // Gone before the event was published, or everything is there.
          if (rows.length === 0) unpublished++;
          expect([point, ...rows]).toEqual([point, ...(rows.length === 0 ? [] : whole.rows)]);
          const handlers = calls.map((call) => call.split(" ")[0] as string);
          const wanted = rows.length > 0 ? [...new Set(whole.calls.map((call) => call.split(" ")[0]))] : [];
          expect([...new Set(handlers)]).toEqual(wanted);
          // At most the one call whose outcome was lost comes twice.
          expect(handlers.length).toBeLessThanOrEqual(wanted.length + 1);
          await database.forget();
        }
        // Most points of the run itself come after the publication.
        expect(whole.points.length - unpublished).toBeGreaterThanOrEqual(5);
      },
    );
  }
});
