/**
 * A small world for the interpreter: one store, two workers that may hold stale copies, and the systems outside in
 * which effects happen. The log is the interpreter's; the effects are counted here, without asking it.
 */
import type { Entry } from "../../../../src/core/saga/entry.ts";
import type { Command, Outcome } from "../../../../src/core/saga/interpreter.ts";
import type { Plan } from "../../../../src/core/saga/plan.ts";
import { initial, type SagaState } from "../../../../src/core/saga/state.ts";

export type Call = Extract<Command, { kind: "act" | "undo" }>;

/** What a worker believes. */
export interface Copy {
  readonly state: SagaState;
  readonly version: number;
  readonly token: number;
}

/** A line on its way to the store, and how to make it anew where it is refused because the saga was changed. */
export interface Sending extends Copy {
  readonly mode: "sending";
  readonly entry: Entry;
  /** Lines before it, in the same commit. */
  readonly before: readonly Entry[];
  /** What the line makes of the copy. */
  readonly after: SagaState;
  readonly release: boolean;
  /** The store has it, but the answer was lost. */
  readonly landed: boolean;
  readonly why:
    | { readonly kind: "start" | "turn" | "release" | "rest" | "stall" | "return" }
    | { readonly kind: "settle"; readonly call: Call; readonly outcome: Outcome; readonly release: boolean };
}

export type Worker =
  | { readonly mode: "idle" }
  | (Copy & { readonly mode: "calling"; readonly call: Call })
  /** The saga has stalled, and a call of it still runs here. */
  | (Copy & { readonly mode: "hearing" })
  | Sending;

/** A call that has outlived its time, and that its worker still hears. */
export interface Orphan {
  readonly who: 0 | 1;
  readonly call: Call;
  /** How it ended; undefined while it runs. */
  readonly answer: Outcome | undefined;
  /** A person has decided, although it runs. */
  readonly overruled: boolean;
}

/**
 * What a step's key stands for outside, or what has become of a wait: `done` where it came, `refused` where its time is
 * over. `half`: the act said no but left something. `refused` and `undone` are
 * remembered: the same key never takes effect again, which is what idempotency keys are for.
 */
export type Effect = "none" | "done" | "half" | "refused" | "undone";

export interface World {
  readonly plan: Plan;
  readonly store: Copy & {
    /** 0 and 1 are the workers, "gone" one that crashed, "none" nobody. */
    readonly owner: 0 | 1 | "gone" | "none";
    readonly lapsed: boolean;
  };
  readonly workers: readonly [Worker, Worker];
  readonly effects: readonly Effect[];
  readonly orphan: Orphan | undefined;
  /** How many more calls may outlive their time. */
  readonly orphans: number;
  /** The saga's deadline has passed. */
  readonly expired: boolean;
  /** The saga has been COMPENSATING at some time. */
  readonly turned: boolean;
  /** A person ended the saga and answers for its effects. */
  readonly resolved: boolean;
  /** How much may still go wrong, and how often people may still step in. */
  readonly troubles: number;
  readonly orders: number;
}

export interface Budget {
  readonly troubles: number;
  readonly orders: number;
  readonly orphans?: number;
}

/** Both ways in which a saga comes to be: begun by the worker that started it, or recorded for anybody. */
export function beginnings(plan: Plan, { troubles, orders, orphans = 0 }: Budget): World[] {
  const effects = plan.map((): Effect => "none");
  const common = {
    plan,
    effects,
    orphan: undefined,
    orphans,
    expired: false,
    turned: false,
    resolved: false,
    troubles,
    orders,
  };
  const recorded: Copy = { state: initial(plan, false), version: 1, token: 0 };
  const begun: Copy = { state: initial(plan, true), version: 1, token: 1 };
  const first: Call = { kind: "act", index: 0, step: (plan[0] as { name: string }).name, attempt: 1 };
  const idle: Worker = { mode: "idle" };
  // Whoever begins with a wait has nothing to call: it is shown by sagas that are recorded first.
  const isWait = plan[0]?.wait !== undefined;
  if (isWait)
    return [{ ...common, store: { ...recorded, owner: "none", lapsed: false }, workers: [idle, idle] }];
  return [
    { ...common, store: { ...recorded, owner: "none", lapsed: false }, workers: [idle, idle] },
    {
      ...common,
      store: { ...begun, owner: 0, lapsed: false },
      workers: [{ ...begun, mode: "calling", call: first }, idle],
    },
  ];
}

/**
 * The same text for worlds from which the same can follow: versions and tokens count only against the store's, and
 * it does not matter which worker is called A.
 */
export function keyOf({ store, workers, effects, orphan, ...world }: World): string {
  const mark = (who: 0 | 1): string => (store.owner === who ? "o" : "") + (orphan?.who === who ? "h" : "");
  const one = workerKey(workers[0], store) + mark(0);
  const two = workerKey(workers[1], store) + mark(1);
  return [
    stateKey(store.state),
    typeof store.owner === "number" ? "held" : store.owner,
    flags(store.lapsed, world.expired, world.turned, world.resolved),
    world.troubles,
    world.orders,
    world.orphans,
    orphan
      ? `${orphan.call.kind}${orphan.call.index}${outcomeKey(orphan.answer)}${flags(orphan.overruled)}`
      : "",
    effects.map((effect) => effect[0]).join(""),
    one < two ? one : two,
    one < two ? two : one,
  ].join("/");
}

function workerKey(worker: Worker, store: Copy): string {
  if (worker.mode === "idle") return "-";
  const token = worker.token === store.token ? "=" : "<";
  const copy = worker.version === store.version ? "=" : stateKey(worker.state);
  if (worker.mode === "calling") return `c${token}${copy}${worker.call.kind}${worker.call.index}`;
  if (worker.mode === "hearing") return `h${token}${copy}`;
  const { entry, why, release, landed } = worker;
  const settle =
    why.kind === "settle" ? `${why.call.kind}${why.call.index}${outcomeKey(why.outcome)}` : why.kind;
  const before = worker.before.map(({ step }) => step).join();
  return `s${token}${copy}${before}${entry.step}${entry.status}${flags(release, landed)}${settle}`;
}

function outcomeKey(outcome: Outcome | undefined): string {
  if (outcome === undefined) return "-";
  return outcome.kind === "ok" ? "ok" : `${outcome.failure.kind}${outcome.qualifies === true ? "q" : ""}`;
}

const keys = new WeakMap<SagaState, string>();

/** How often a call was begun is left out, unless a fallback depends on whether it was once. */
export function stateKey(state: SagaState): string {
  const known = keys.get(state);
  if (known !== undefined) return known;
  const steps = state.steps.map(({ act, acts, undo, actFailures, undoFailures, runningSinceMs }, index) => {
    const often = state.plan[index]?.fallback !== undefined && acts > 1 ? "m" : "";
    const running = runningSinceMs === undefined ? "" : "r";
    return `${act[0]}${act[2]}${undo[0]}${actFailures}${undoFailures}${often}${running}`;
  });
  const { status, failure, stall, cancel, expired } = state;
  const notes = `${cancel ? "c" : ""}${expired ? "e" : ""}`;
  const key = `${status[0]}${status[4]}${steps.join("")}${failure?.kind ?? ""}${stall?.kind ?? ""}${notes}`;
  keys.set(state, key);
  return key;
}

function flags(...given: boolean[]): string {
  return given.map((flag) => (flag ? "1" : "0")).join("");
}
