/** Erasure entries, with each way in which an entry can end. */
import { ResolverError, type ResolverCall, type ResolverErasure } from "amends/erasure";
import { ATTEMPT_MAX, countRows, erasureWorkload } from "./erasure-workload.ts";
import { pause } from "../../harness/open-work.ts";
import type { Workload, Scenario } from "../scenario.ts";
import type { World } from "../../external-world/world.ts";

/** A resolver whose first `failures` calls fail. */
const flaky = (world: World, name: string, failures: number): { name: string; eraseSubject: Erase } => ({
  name,
  eraseSubject: (_, call) =>
    world.callForEntry(name, "erase", call, () => {
      if (world.entryCalls.countCalls(call.key, "erase") <= failures) throw new Error("not now");
      return {};
    }),
});

type Erase = (ref: unknown, call: ResolverCall) => Promise<ResolverErasure>;

const erased: Scenario = {
  name: "erased",
  title:
    "[O-07][O-09][O-13] two concurrent entries, of which one fails first, are each called until they succeed, and the request completes once",
  outbox: { attemptMax: ATTEMPT_MAX },
  workload(world) {
    // This resolver waits until the other entry has succeeded, so that both are claimed together and end in one order.
    const last = {
      name: "mail",
      eraseSubject: (_: unknown, call: ResolverCall) =>
        world.callForEntry("mail", "erase", call, async () => {
          const isOpen = (): Promise<number> =>
            countRows(world.database, "outbox", "name = 'stripe' and status <> 'succeeded'");
          while ((await isOpen()) > 0) {
            call.signal.throwIfAborted();
            await pause();
          }
          return { alreadyAbsent: true };
        }),
    };
    return erasureWorkload(world, {
      resolvers: [flaky(world, "stripe", 1), last],
      entries: [{ resolver: "stripe" }, { resolver: "mail" }],
      concurrency: 2,
    });
  },
};

const abandoned: Scenario = {
  name: "abandoned",
  title:
    "[O-09][O-18][K-07] an entry that never succeeds is called as often as its budget allows, and is abandoned together with its audit event",
  outbox: { attemptMax: 2 },
  workload: (world) =>
    erasureWorkload(world, {
      resolvers: [flaky(world, "stripe", Infinity)],
      entries: [{ resolver: "stripe" }],
      attempts: 2,
      options: { onAbandoned: () => world.reachPoint("hook") },
    }),
};

/** The retention of the log system. */
const HORIZON_MS = 300;

const scheduled: Scenario = {
  name: "scheduled",
  title:
    "[O-11][O-13] an entry that is scheduled for a later expiry is called again after it, and completes only then",
  outbox: { attemptMax: ATTEMPT_MAX, personal: ["logs"] },
  workload: (world) =>
    erasureWorkload(world, {
      resolvers: [
        {
          name: "logs",
          personalRef: true,
          scheduleErasure: (_, call) =>
            world.callForEntry("logs", "schedule", call, () => {
              const first = world.entryCalls.read().find(({ key }) => key === call.key);
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

function verifying(world: World, misses: number, requireVerification: boolean): Workload {
  return erasureWorkload(world, {
    resolvers: [
      {
        ...flaky(world, "stripe", 0),
        verifyAbsent: (_, call) =>
          world.callForEntry(
            "stripe",
            "verify",
            call,
            () => world.entryCalls.countCalls(call.key, "verify") > misses,
          ),
      },
    ],
    entries: [{ resolver: "stripe" }],
    options: { requireVerification },
  });
}

const verified: Scenario = {
  name: "verified",
  title: "[O-12][O-13] a success is persisted before it is verified, and no crash loses the verdict",
  outbox: { attemptMax: ATTEMPT_MAX },
  workload: (world) => verifying(world, 0, false),
};

const proven: Scenario = {
  name: "proven",
  title:
    "[O-12][O-13] if verification is required, the request completes only after the data was verified as absent",
  outbox: { attemptMax: ATTEMPT_MAX, requiresVerification: true },
  workload: (world) => verifying(world, 1, true),
};

const overtaken: Scenario = {
  name: "overtaken",
  title: "[K-06][O-12] a worker that lost its entry changes nothing while its successor still holds it",
  outbox: { attemptMax: ATTEMPT_MAX },
  overlaps: true,
  workload: (world) => verifying(world, 0, false),
};

const requeued: Scenario = {
  name: "requeued",
  title: "[O-08][O-16] a requeue is recorded exactly as often as it was made, and the entry then succeeds",
  outbox: { attemptMax: ATTEMPT_MAX },
  workload: (world) =>
    erasureWorkload(world, {
      resolvers: [
        {
          name: "stripe",
          eraseSubject: (_, call) =>
            world.callForEntry("stripe", "erase", call, () => {
              if (!world.isRepaired) throw new ResolverError("closed");
              return {};
            }),
        },
      ],
      entries: [{ resolver: "stripe" }],
      repair: () => world.repair(),
    }),
};

export const entries: readonly Scenario[] = [
  erased,
  abandoned,
  scheduled,
  verified,
  proven,
  overtaken,
  requeued,
];
