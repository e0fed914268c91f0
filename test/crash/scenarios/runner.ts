/** Entries that a runner carries out: each way in which one can come to its end. */
import { ResolverError, type ResolverCall, type ResolverErasure } from "amends/erasure";
import { ATTEMPT_MAX, countRows, errand, pause } from "../office.ts";
import type { Play, Scenario } from "../scenario.ts";
import type { World } from "../world.ts";

/** A system that fails the first so many times. */
const flaky = (world: World, name: string, failures: number): { name: string; eraseSubject: Erase } => ({
  name,
  eraseSubject: (_, call) =>
    world.visit(name, "erase", call, () => {
      if (world.visits.calls(call.key, "erase") <= failures) throw new Error("not now");
      return {};
    }),
});

type Erase = (ref: unknown, call: ResolverCall) => Promise<ResolverErasure>;

const erased: Scenario = {
  name: "erased",
  title:
    "[O-07][O-09][O-13] of two entries at once, one failing first, each is called until it succeeds, and the request completes once",
  outbox: { attemptMax: ATTEMPT_MAX },
  play(world) {
    // The one that is done last waits for the other, so that both are claimed together and end in one order.
    const patient = {
      name: "mail",
      eraseSubject: (_: unknown, call: ResolverCall) =>
        world.visit("mail", "erase", call, async () => {
          const isOpen = (): Promise<number> =>
            countRows(world.database, "outbox", "name = 'stripe' and status <> 'succeeded'");
          while ((await isOpen()) > 0) {
            call.signal.throwIfAborted();
            await pause();
          }
          return { alreadyAbsent: true };
        }),
    };
    return errand(world, {
      resolvers: [flaky(world, "stripe", 1), patient],
      entries: [{ resolver: "stripe" }, { resolver: "mail" }],
      concurrency: 2,
    });
  },
};

const abandoned: Scenario = {
  name: "abandoned",
  title:
    "[O-09][O-18][K-07] an entry that never succeeds is called as often as it may be, and is abandoned with its event",
  outbox: { attemptMax: 2 },
  play: (world) =>
    errand(world, {
      resolvers: [flaky(world, "stripe", Infinity)],
      entries: [{ resolver: "stripe" }],
      attempts: 2,
      options: { onAbandoned: () => world.stop("hook") },
    }),
};

/** How long the log system keeps what it has. */
const HORIZON_MS = 300;

const parked: Scenario = {
  name: "parked",
  title: "[O-11][O-13] an entry that is parked to a horizon is asked again after it, and only then completes",
  outbox: { attemptMax: ATTEMPT_MAX, personal: ["logs"] },
  play: (world) =>
    errand(world, {
      resolvers: [
        {
          name: "logs",
          personalRef: true,
          scheduleErasure: (_, call) =>
            world.visit("logs", "schedule", call, () => {
              const first = world.visits.read().find(({ key }) => key === call.key);
              const expiresAtMs = (first?.atMs ?? 0) + HORIZON_MS;
              return Date.now() < expiresAtMs
                ? { expiresAt: new Date(expiresAtMs) }
                : { alreadyAbsent: true };
            }),
        },
      ],
      entries: [{ resolver: "logs" }],
    }),
};

function verifying(world: World, misses: number, requireVerification: boolean): Play {
  return errand(world, {
    resolvers: [
      {
        ...flaky(world, "stripe", 0),
        verifyAbsent: (_, call) =>
          world.visit("stripe", "verify", call, () => world.visits.calls(call.key, "verify") > misses),
      },
    ],
    entries: [{ resolver: "stripe" }],
    options: { requireVerification },
  });
}

const verified: Scenario = {
  name: "verified",
  title: "[O-12][O-13] a success is booked before it is verified, and no crash loses the verdict",
  outbox: { attemptMax: ATTEMPT_MAX },
  play: (world) => verifying(world, 0, false),
};

const proven: Scenario = {
  name: "proven",
  title: "[O-12][O-13] where verification is required, nothing completes before the data was found gone",
  outbox: { attemptMax: ATTEMPT_MAX, requiresVerification: true },
  play: (world) => verifying(world, 1, true),
};

const overtaken: Scenario = {
  name: "overtaken",
  title: "[K-06][O-12] a runner that lost its entry changes nothing while its successor is still at work",
  outbox: { attemptMax: ATTEMPT_MAX },
  overlaps: true,
  play: (world) => verifying(world, 0, false),
};

const requeued: Scenario = {
  name: "requeued",
  title: "[O-08][O-16] a requeue is on record exactly as often as it was made, and the entry then succeeds",
  outbox: { attemptMax: ATTEMPT_MAX },
  play: (world) =>
    errand(world, {
      resolvers: [
        {
          name: "stripe",
          eraseSubject: (_, call) =>
            world.visit("stripe", "erase", call, () => {
              if (!world.mended) throw new ResolverError("closed");
              return {};
            }),
        },
      ],
      entries: [{ resolver: "stripe" }],
      repair: () => world.mend(),
    }),
};

export const runner: readonly Scenario[] = [erased, abandoned, parked, verified, proven, overtaken, requeued];
