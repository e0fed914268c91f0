/** Sagas as they look in a shop on a working day: most complete, some turn back, a few wait for a person. */
import type {
  Json,
  SagaAction,
  SagaDetail,
  SagaLine,
  SagaStatus,
  TimelineLine,
} from "../../../src/console/contract.ts";
import { mask, maskTexts } from "../../../src/console/http/mask.ts";
import { graphOf, stepLines } from "../../../src/console/sagas/graph.ts";

interface Step {
  readonly name: string;
  readonly ms: number;
  readonly pivot?: true;
  readonly noUndo?: true;
}

export const DEFINITIONS: Readonly<Record<string, readonly Step[]>> = {
  "place-order": [
    { name: "reserve", ms: 38 },
    { name: "charge", ms: 412 },
    { name: "ship", ms: 190, pivot: true, noUndo: true },
    { name: "email", ms: 74, noUndo: true },
  ],
  "onboard-tenant": [
    { name: "create-account", ms: 61 },
    { name: "provision-database", ms: 2_840 },
    { name: "seed-data", ms: 930 },
    { name: "issue-certificate", ms: 1_510 },
    { name: "send-welcome", ms: 88, noUndo: true },
  ],
  "renew-subscription": [
    { name: "price", ms: 22, noUndo: true },
    { name: "charge", ms: 385 },
    { name: "extend", ms: 47 },
  ],
  "refund-order": [
    { name: "approve", ms: 30, noUndo: true },
    { name: "refund", ms: 510 },
    { name: "restock", ms: 64 },
  ],
};

export type Ending = "COMPLETED" | "FAILED" | "STALLED" | "RUNNING" | "COMPENSATING" | "PENDING";

export interface SagaSeed {
  readonly id: string;
  readonly name: string;
  readonly ending: Ending;
  readonly startMs: number;
  readonly input: Json;
  readonly steps?: readonly string[];
  /** Started for later. */
  readonly runAtMs?: number;
  readonly priority?: number;
  readonly attributes?: SagaLine["attributes"];
}

export interface StoredSaga {
  readonly detail: SagaDetail;
  readonly secret: Readonly<Record<string, Json>>;
}

/** Plays a saga out: what was called, when, and how it ended. */
export function playSaga(seed: SagaSeed): StoredSaga {
  const steps: readonly Step[] =
    seed.steps?.map((name) => ({ name, ms: 40 })) ?? DEFINITIONS[seed.name] ?? [];
  const lines: TimelineLine[] = [];
  let atMs = seed.startMs;
  const at = (): string => new Date(atMs).toISOString();
  const line = (
    name: string,
    action: "act" | "compensate",
    status: TimelineLine["status"],
    note: string | null = null,
  ): void => void lines.push({ at: at(), name, kind: "step", action, status, note, by: null, step: null });
  const control = (name: string, step: string | null, note: string | null): void =>
    void lines.push({
      at: at(),
      name,
      kind: "control",
      action: "act",
      status: "COMPLETED",
      note,
      by: null,
      step,
    });

  const breaksAt = breakOf(seed.ending, steps.length);
  const done: Step[] = [];
  for (const [index, step] of seed.ending === "PENDING" ? [] : steps.entries()) {
    line(step.name, "act", "STARTED");
    if (seed.ending === "RUNNING" && index === breaksAt) break;
    atMs += wobble(seed.id, index, step.ms);
    if (index === breaksAt) {
      line(step.name, "act", "FAILED", seed.ending === "STALLED" ? "card-declined" : "no-stock");
      break;
    }
    line(step.name, "act", "COMPLETED");
    done.push(step);
  }
  if (seed.ending === "FAILED" || seed.ending === "STALLED" || seed.ending === "COMPENSATING") {
    control("turn", steps[breaksAt]?.name ?? null, null);
    for (const [index, step] of done.toReversed().entries()) {
      if (step.noUndo) continue;
      line(step.name, "compensate", "STARTED");
      if (seed.ending === "COMPENSATING" && index === 0) break;
      atMs += wobble(seed.id, index + 7, step.ms * 0.8);
      if (seed.ending === "STALLED" && index === 0) {
        line(step.name, "compensate", "FAILED", "BankClosed");
        atMs += 1_000;
        line(step.name, "compensate", "STARTED");
        atMs += 640;
        line(step.name, "compensate", "FAILED", "BankClosed");
      } else line(step.name, "compensate", "COMPLETED");
    }
    if (seed.ending === "STALLED") control("stall", done.at(-1)?.name ?? null, "BankClosed");
  }
  return store(seed, steps, lines, done, atMs);
}

function store(
  seed: SagaSeed,
  steps: readonly Step[],
  timeline: readonly TimelineLine[],
  done: readonly Step[],
  endMs: number,
): StoredSaga {
  const status: SagaStatus = seed.ending;
  const plan = steps.map(({ name, noUndo, pivot }) => ({
    name,
    undo: !noUndo,
    pivot: pivot ?? false,
    undoOnErr: false,
    atomic: false,
  }));
  const seen = timeline.map(({ at, note, by, step, ...rest }) => ({
    ...rest,
    at: new Date(at),
    ...(note !== null && { note }),
    ...(by !== null && { by }),
    ...(step !== null && { step }),
  }));
  const results = Object.fromEntries(done.map(({ name }) => [name, { id: `${name}-${seed.id}`, at: endMs }]));
  const lastDone = done.at(-1)?.name ?? "";
  const failed = status === "FAILED" || status === "STALLED" || status === "COMPENSATING";
  const stalled = status === "STALLED";
  const actions: readonly SagaAction[] = stalled
    ? ["retry", "skip", "resolve"]
    : status === "RUNNING" || status === "PENDING"
      ? ["cancel"]
      : [];
  const reported = { done: 1_240, total: 4_000, file: `export-${seed.id}.csv` };
  const runs = status === "RUNNING" ? timeline.at(-1)?.name : undefined;
  const detail: SagaDetail = {
    id: seed.id,
    saga: seed.name,
    status,
    archivedAt: null,
    createdAt: new Date(seed.startMs).toISOString(),
    updatedAt: new Date(endMs).toISOString(),
    runAt: seed.runAtMs === undefined ? null : new Date(seed.runAtMs).toISOString(),
    isScheduled: seed.runAtMs !== undefined && status === "PENDING",
    paused: null,
    isPaused: false,
    attributes: seed.attributes ?? {},
    priority: seed.priority ?? 0,
    durationMs: endMs - seed.startMs,
    recoveries: stalled ? 1 : 0,
    steps: stepLines({ plan, timeline: seen, status }),
    lastError: stalled ? "BankClosed" : failed ? "card-declined" : null,
    version: 1,
    revision: timeline.length + 1,
    input: mask(seed.input),
    results: Object.fromEntries(Object.entries(results).map(([name, value]) => [name, mask(value)])),
    dueAt:
      status === "RUNNING" || seed.runAtMs !== undefined
        ? new Date(seed.runAtMs ?? endMs + 300_000).toISOString()
        : null,
    family: { parent: null, children: [], reverses: null, reversedBy: null },
    waiting: null,
    heldBy: [],
    running: null,
    owner: status === "RUNNING" || status === "COMPENSATING" ? "worker-eu-1.7f3a" : null,
    progress:
      runs === undefined
        ? []
        : [
            {
              step: runs,
              action: "act",
              value: maskTexts(reported),
              at: new Date(endMs).toISOString(),
            },
          ],
    error: failed ? { kind: "err", label: "card-declined", value: mask({ code: "do_not_honor" }) } : null,
    undoErrors: stalled ? [{ kind: "exhausted", label: "BankClosed", step: lastDone }] : [],
    stalled: stalled ? `the undo of step ${lastDone} failed (BankClosed)` : null,
    actions,
    skippable: stalled ? [lastDone] : [],
    timeline,
    graph: graphOf({ plan, timeline: seen, status }),
    mermaid: { sequence: `sequenceDiagram\n  participant S as ${seed.name}\n`, state: "stateDiagram-v2\n" },
  };
  const progress = runs === undefined ? {} : { [`act ${runs}`]: reported };
  return { detail, secret: { input: seed.input, results, error: { code: "do_not_honor" }, progress } };
}

function breakOf(ending: Ending, count: number): number {
  if (ending === "COMPLETED" || ending === "PENDING") return -1;
  return ending === "RUNNING" ? Math.max(0, count - 2) : Math.min(2, count - 1);
}

/** The same saga always takes the same time. */
function wobble(id: string, index: number, ms: number): number {
  let hash = 7 + index;
  for (const character of id) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 9_973;
  return Math.max(2, Math.round(ms * (0.6 + (hash % 90) / 100)));
}

export function lineOf({ detail }: StoredSaga): SagaLine {
  const { id, saga, status, createdAt, updatedAt, durationMs, recoveries, steps, lastError, archivedAt } =
    detail;
  const { runAt, isScheduled, attributes } = detail;
  const line = {
    id,
    saga,
    status,
    createdAt,
    updatedAt,
    durationMs,
    recoveries,
    steps,
    lastError,
    archivedAt,
  };
  return { ...line, runAt, isScheduled, isPaused: detail.isPaused, attributes };
}
