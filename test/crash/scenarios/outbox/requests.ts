/** Erasure and rectification requests in the caller's transaction, and user-defined calls. */
import { Terminal } from "amends";
import { defineCall, type Calls } from "amends/calls";
import type { RectifyingResolver, Erasure } from "amends/erasure";
import { ATTEMPT_MAX, countRows, schedule } from "./erasure-workload.ts";
import { untilNothingOpen } from "../../harness/open-work.ts";
import { CANARY, CORRECTED, peopleDataMap, SUBJECT } from "./personal-data.ts";
import { anything, type Workload, type Scenario, type RunContext } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";

const STRIPE = { kind: "stripe", value: CANARY };
const MAIL = { kind: "mail", value: "m-1" };

type Ask = (erasure: Erasure, tx: unknown) => Promise<unknown>;

interface Request {
  /** The caller's requests, each in a transaction of its own. */
  readonly asks: readonly Ask[];
  readonly isForeign?: boolean;
  /** `asked` is the number of the caller's rows. */
  readonly check: (asked: number) => Promise<readonly string[]>;
}

function request(world: World, { asks, isForeign = false, check }: Request): Workload {
  let erasure: Erasure | undefined;
  const resolver = (name: string): RectifyingResolver => ({
    name,
    personalRef: name === "stripe",
    eraseSubject: (_, call) => world.callForEntry(name, "erase", call, () => ({})),
    rectifySubject: (_, corrections, call) =>
      world.callForEntry(name, "rectify", call, () => {
        if (corrections.length === 0) throw new Error("the corrections were lost");
        return {};
      }),
  });
  return {
    concurrency: 1,
    parts: (leaseMs) => ({
      erasure: {
        dataMap: peopleDataMap((name) => world.database.dialect.table(name).text),
        resolvers: [resolver("stripe"), resolver("mail")],
        // The rebuild of the file depends on time, and is not part of a request.
        rebuildEvery: "never",
        ...(isForeign && { audit: world.sink }),
        ...schedule(leaseMs),
      },
    }),
    onAmends: (amends) => void ({ erasure } = amends),
    async run(context: RunContext) {
      for (const ask of asks) {
        await context.database.transaction(async (_, tx) => {
          await world.write(tx, "asked");
          await ask(erasure as Erasure, tx);
        });
      }
      await context.worker.start();
      await untilNothingOpen(context);
    },
    async check() {
      return check((await world.ledger()).get("asked") ?? 0);
    },
  };
}

/** The number of recorded audit events of a type. */
type CountEvents = (type: string) => Promise<number>;

/** The caller's row, the personal data, the entries and the audit trail agree: all were committed, or none. */
async function checkErased(
  { database }: World,
  asked: number,
  refs: number,
  countEvents: CountEvents,
): Promise<readonly string[]> {
  const found = {
    requested: await countEvents("ERASURE_REQUESTED"),
    done: await countEvents("ERASURE_LOCAL_COMPLETED"),
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

/** The application's tables contain the values of the last committed request. */
async function checkRectified(
  { database }: World,
  asked: number,
  countEvents: CountEvents,
): Promise<readonly string[]> {
  const found = {
    requested: await countEvents("RECTIFICATION_REQUESTED"),
    done: await countEvents("RECTIFICATION_LOCAL_COMPLETED"),
    // An earlier entry is superseded if it was still open when the next request came, and succeeded otherwise.
    entries: await countRows(database, "outbox", "status in ('succeeded', 'superseded')"),
    counted: await countRows(database, "subjects", `rectifications = ${asked}`),
    corrected: await countRows(database, "people", `email = '${CORRECTED}-${asked}'`),
  };
  const some = asked > 0 ? 1 : 0;
  const there = { requested: asked, done: asked, entries: asked, counted: some, corrected: some };
  return compare("E-08", found, there);
}

function inTrail({ database }: World): CountEvents {
  return (type) => countRows(database, "audit_events", `type = '${type}'`);
}

function compare<Counts extends Record<string, number>>(
  rule: string,
  found: Counts,
  right: Counts,
): string[] {
  return Object.keys(right)
    .filter((what) => found[what] !== right[what])
    .map((what) => `${rule}: ${what} is ${found[what]}, not ${right[what]}`);
}

const personal = ["stripe"];

const erasure: Scenario = {
  name: "erasure",
  title:
    "[E-02][E-06][O-13] an erasure is committed in the application's tables, the outbox and the audit trail, or in none, and completes once",
  outbox: { attemptMax: ATTEMPT_MAX, personal },
  workload: (world) =>
    request(world, {
      asks: [(one, tx) => one.eraseSubject(SUBJECT, [STRIPE, MAIL], { tx })],
      check: (asked) => checkErased(world, asked, 2, inTrail(world)),
    }),
};

const rectification: Scenario = {
  name: "rectification",
  title:
    "[E-08][O-14][O-19] a rectification is written everywhere or nowhere, a newer one supersedes it, and no corrected value stays in the outbox",
  outbox: { attemptMax: ATTEMPT_MAX, personal },
  workload: (world) =>
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
    "[O-10][E-06] an external audit sink receives every event at least once, and no event that did not happen",
  outbox: { attemptMax: ATTEMPT_MAX, personal, isForeign: true },
  workload: (world) =>
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
    "[O-20][O-01] a user-defined call is made exactly if its caller commits, and again after it was abandoned and requeued",
  outbox: { attemptMax: ATTEMPT_MAX },
  workload(world) {
    const greet = defineCall("greet", {
      schema: anything,
      timeout: "5m",
      handle: (_, call) =>
        world.callForEntry("greet", "call", call, () => {
          if (!world.isRepaired) throw new Terminal("closed");
        }),
    });
    let calls: Calls | undefined;
    const requeueAll = async (): Promise<void> => {
      world.repair();
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
      onAmends: (amends) => void ({ calls } = amends),
      async run(context) {
        await context.database.transaction(async (_, tx) => {
          await world.write(tx, "asked");
          await calls?.enqueue(greet, { name: CANARY }, { tx });
        });
        await context.worker.start();
        await untilNothingOpen(context);
        await requeueAll();
        await untilNothingOpen(context);
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
