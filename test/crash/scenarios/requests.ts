/** Requests that a caller makes in a transaction of its own, beside its own rows, and calls of the user's own. */
import { Terminal } from "amends";
import { defineCall, type Calls } from "amends/calls";
import type { RectifyingResolver, Erasure } from "amends/erasure";
import { ATTEMPT_MAX, countRows, schedule, untilOver } from "../office.ts";
import { CANARY, CORRECTED, SUBJECT, whereDataIs } from "../people.ts";
import { anything, type Play, type Scenario, type Stage } from "../scenario.ts";
import type { World } from "../world.ts";

const STRIPE = { kind: "stripe", value: CANARY };
const MAIL = { kind: "mail", value: "m-1" };

type Ask = (erasure: Erasure, tx: unknown) => Promise<unknown>;

interface Request {
  /** What the caller does, a transaction each. */
  readonly asks: readonly Ask[];
  readonly isForeign?: boolean;
  /** `asked` is how often the caller's own row is there. */
  readonly check: (asked: number) => Promise<readonly string[]>;
}

function request(world: World, { asks, isForeign = false, check }: Request): Play {
  let erasure: Erasure | undefined;
  const resolver = (name: string): RectifyingResolver => ({
    name,
    personalRef: name === "stripe",
    eraseSubject: (_, call) => world.visit(name, "erase", call, () => ({})),
    rectifySubject: (_, corrections, call) =>
      world.visit(name, "rectify", call, () => {
        if (corrections.length === 0) throw new Error("the corrections were lost");
        return {};
      }),
  });
  return {
    concurrency: 1,
    parts: (leaseMs) => ({
      erasure: {
        dataMap: whereDataIs((name) => world.database.dialect.table(name).text),
        resolvers: [resolver("stripe"), resolver("mail")],
        // Rebuilding the file comes as the clock wants, and is no part of a request.
        rebuildEvery: "never",
        ...(isForeign && { audit: world.sink }),
        ...schedule(leaseMs),
      },
    }),
    meet: (amends) => void ({ erasure } = amends),
    async run(stage: Stage) {
      for (const ask of asks) {
        await stage.database.transaction(async (_, tx) => {
          await world.write(tx, "asked");
          await ask(erasure as Erasure, tx);
        });
      }
      await stage.worker.start();
      await untilOver(stage);
    },
    async check() {
      return check((await world.ledger()).get("asked") ?? 0);
    },
  };
}

/** How often something is on record. */
type Told = (type: string) => Promise<number>;

/** The caller's row, its people, the entries and the trail agree: all of it was committed, or none. */
async function checkErased(
  { database }: World,
  asked: number,
  refs: number,
  told: Told,
): Promise<readonly string[]> {
  const found = {
    requested: await told("ERASURE_REQUESTED"),
    done: await told("ERASURE_LOCAL_COMPLETED"),
    entries: await countRows(database, "outbox", "kind = 'erasure' and status = 'succeeded'"),
    counted: await countRows(database, "subjects", `erasures = ${asked}`),
    letters: await countRows(database, "letters", `person_id = '${SUBJECT}'`),
    named: await countRows(database, "people", `email like '%${CANARY}%'`),
    others: await countRows(database, "letters", "person_id = 'ben'"),
  };
  const left = asked > 0 ? 0 : 1;
  const there = { requested: asked, done: asked, entries: asked * refs, counted: asked > 0 ? 1 : 0 };
  return compare("E-02", found, { ...there, letters: left, named: left, others: 1 });
}

/** The values of the last request that was committed are in the caller's tables. */
async function checkRectified({ database }: World, asked: number, told: Told): Promise<readonly string[]> {
  const found = {
    requested: await told("RECTIFICATION_REQUESTED"),
    done: await told("RECTIFICATION_LOCAL_COMPLETED"),
    // Whether an earlier one was carried out or superseded depends on who was awake when the next one came.
    entries: await countRows(database, "outbox", "status in ('succeeded', 'superseded')"),
    counted: await countRows(database, "subjects", `rectifications = ${asked}`),
    corrected: await countRows(database, "people", `email = '${CORRECTED}-${asked}'`),
  };
  const some = asked > 0 ? 1 : 0;
  const there = { requested: asked, done: asked, entries: asked, counted: some, corrected: some };
  return compare("E-08", found, there);
}

function inTrail({ database }: World): Told {
  return (type) => countRows(database, "audit_events", `type = '${type}'`);
}

function compare<Counts extends Record<string, number>>(
  rule: string,
  found: Counts,
  right: Counts,
): string[] {
  return Object.keys(right)
    .filter((what) => found[what] !== right[what])
    .map((what) => `${rule}: ${what}: ${found[what]}, not ${right[what]}`);
}

const personal = ["stripe"];

const erasure: Scenario = {
  name: "erasure",
  title:
    "[E-02][E-06][O-13] an erasure is in the caller's tables, the outbox and the trail, or in none of them, and completes once",
  outbox: { attemptMax: ATTEMPT_MAX, personal },
  play: (world) =>
    request(world, {
      asks: [(one, tx) => one.eraseSubject(SUBJECT, [STRIPE, MAIL], { tx })],
      check: (asked) => checkErased(world, asked, 2, inTrail(world)),
    }),
};

const rectification: Scenario = {
  name: "rectification",
  title:
    "[E-08][O-14][O-19] a rectification is written everywhere or nowhere, a newer one takes its place, and none of it stays in the outbox",
  outbox: { attemptMax: ATTEMPT_MAX, personal },
  play: (world) =>
    request(world, {
      asks: [1, 2].map(
        (time): Ask =>
          (one, tx) =>
            one.rectifySubject(SUBJECT, [{ category: "email", value: `${CORRECTED}-${time}` }], [STRIPE], {
              tx,
            }),
      ),
      check: (asked) => checkRectified(world, asked, inTrail(world)),
    }),
};

const foreign: Scenario = {
  name: "foreign",
  title:
    "[O-10][E-06] a sink outside the database hears of everything at least once, and of nothing that was not",
  outbox: { attemptMax: ATTEMPT_MAX, personal, isForeign: true },
  play: (world) =>
    request(world, {
      asks: [(one, tx) => one.eraseSubject(SUBJECT, [STRIPE], { tx })],
      isForeign: true,
      check: (asked) => {
        const types = world.sink.facts().map(({ type }) => type as string);
        return checkErased(world, asked, 1, async (type) => types.filter((one) => one === type).length);
      },
    }),
};

const called: Scenario = {
  name: "called",
  title:
    "[O-20][O-01] a call of the user's own is made exactly if its caller commits, and again after it was abandoned and requeued",
  outbox: { attemptMax: ATTEMPT_MAX },
  play(world) {
    const greet = defineCall("greet", {
      schema: anything,
      timeout: "5m",
      handle: (_, call) =>
        world.visit("greet", "call", call, () => {
          if (!world.mended) throw new Terminal("closed");
        }),
    });
    let calls: Calls | undefined;
    const requeueAll = async (): Promise<void> => {
      world.mend();
      const page = await calls?.listAbandoned();
      await calls?.requeue(
        (page?.entries ?? []).map(({ entryId }) => entryId),
        { reason: "test" },
      );
    };
    return {
      concurrency: 1,
      parts(leaseMs) {
        const { retry, lease } = schedule(leaseMs);
        return { calls: { define: [greet], retry, lease } };
      },
      meet: (amends) => void ({ calls } = amends),
      async run(stage) {
        await stage.database.transaction(async (_, tx) => {
          await world.write(tx, "asked");
          await calls?.enqueue(greet, { name: CANARY }, { tx });
        });
        await stage.worker.start();
        await untilOver(stage);
        await requeueAll();
        await untilOver(stage);
      },
      operate: requeueAll,
      async check() {
        const asked = (await world.ledger()).get("asked") ?? 0;
        const found = { done: await countRows(world.database, "outbox", "status = 'succeeded'") };
        return compare("O-20", found, { done: asked });
      },
    };
  },
};

export const requests: readonly Scenario[] = [erasure, rectification, foreign, called];
