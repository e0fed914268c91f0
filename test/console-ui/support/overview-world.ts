/** The figures of the first page, worked out from a world. They move with the clock, so that plots have something to show. */
import type { Overview, OverviewHistory, SagaLine, SagaStatus } from "../../../src/console/contract.ts";
import { lineOf } from "./saga-world.ts";
import type { World } from "./world.ts";

const BUCKETS = { "15m": 15_000, "1h": 60_000, "6h": 360_000, "24h": 1_440_000 } as const;

export function historyOf(world: World, window: Overview["window"]): OverviewHistory {
  const bucketMs = BUCKETS[window];
  const first = Math.floor(Date.now() / bucketMs) - 59;
  const quiet = world.kind === "empty";
  return {
    window,
    bucketMs,
    points: Array.from({ length: 60 }, (_, index) => ({
      at: new Date((first + index) * bucketMs).toISOString(),
      p50Ms: quiet ? null : Math.round(640 + 60 * Math.sin((first + index) / 5)),
      p95Ms: quiet ? null : Math.round(2_300 + 500 * Math.sin((first + index) / 4)),
      waitedMs: quiet ? null : Math.round(1_400 + 900 * Math.sin((first + index) / 3)),
    })),
  };
}

export function overviewOf(world: World, window: Overview["window"]): Overview {
  const buckets = 60;
  const bucketMs = BUCKETS[window];
  const quiet = world.kind === "empty";
  const count = (value: number): { readonly value: number; readonly exact: boolean } => ({
    value,
    exact: value < 10_000,
  });
  const tally = <S extends string>(list: readonly { readonly status: string }[], states: readonly S[]) =>
    Object.fromEntries(
      states.map((state) => [state, count(list.filter(({ status }) => status === state).length)]),
    ) as Record<S, ReturnType<typeof count>>;
  const lines: readonly SagaLine[] = [...world.sagas.values()].map(lineOf);
  const states: readonly SagaStatus[] = [
    "PENDING",
    "RUNNING",
    "COMPENSATING",
    "STALLED",
    "COMPLETED",
    "FAILED",
  ];
  const byStatus = tally(lines, states);
  const first = Math.floor(Date.now() / bucketMs) - buckets + 1;
  return {
    at: new Date().toISOString(),
    window,
    bucketMs,
    sagas: {
      byStatus: quiet ? byStatus : { ...byStatus, COMPLETED: { value: 48_213, exact: false } },
      buckets: Array.from({ length: buckets }, (_, index) => {
        const wave = 46 + 30 * Math.sin((first + index) / 6) + (((first + index) * 7_919) % 17);
        return {
          at: new Date((first + index) * bucketMs).toISOString(),
          completed: quiet ? 0 : Math.round(wave),
          failed: quiet ? 0 : ((first + index) * 31) % 7,
          stalled: !quiet && index === 41 ? 2 : 0,
          exact: true,
        };
      }),
      latency: quiet
        ? { p50Ms: null, p95Ms: null, sample: 0 }
        : {
            p50Ms: 640 + 60 * Math.sin(Date.now() / 9_000),
            p95Ms: 2_300 + 500 * Math.sin(Date.now() / 7_000),
            sample: 2_000,
          },
    },
    workers: 1,
    runMsAgo: null,
    backlog: { oldestMs: quiet ? 0 : 1_400 + 900 * Math.sin(Date.now() / 5_000), due: count(quiet ? 0 : 23) },
    outbox: tally([...world.outbox.values()], ["pending", "in_flight", "failed", "scheduled", "abandoned"]),
    flows: tally([...world.flows.values()], ["running", "compensating", "stalled", "completed", "failed"]),
    deliveries: tally(
      [...world.deliveries.values()],
      ["Pending", "InProgress", "PendingRetry", "Completed", "DeadLettered"],
    ),
    attention: count(world.attention.length),
  };
}
