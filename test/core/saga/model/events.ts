/** Everything that can happen next in a world, good and bad. */
import { control, type ControlDetails, type Entry } from "../../../../src/core/saga/entry.ts";
import { takesOver, turnEntry, type Outcome } from "../../../../src/core/saga/interpreter.ts";
import { CLAIMABLE } from "../../../../src/core/saga/machine.ts";
import { evolve } from "../../../../src/core/saga/evolve.ts";
import { canTurn } from "../../../../src/core/saga/undoing.ts";
import { allowedActions, skippable } from "../../../../src/sagas/view/operators.ts";
import { claim, held, land, proceed, refused, sending, settling, withWorker, type Fence } from "./lines.ts";
import type { Call, Effect, Worker, World } from "./world.ts";

export type Step = readonly [name: string, world: World];

const IDLE = { mode: "idle" } as const;

export function eventsOf(world: World, fence: Fence): Step[] {
  return [...workerEvents(world, 0, fence), ...workerEvents(world, 1, fence), ...outsideEvents(world)];
}

function workerEvents(world: World, who: 0 | 1, fence: Fence): Step[] {
  const worker = world.workers[who];
  const name = who === 0 ? "A" : "B";
  const steps: Step[] = [];
  const trouble = { ...world, troubles: world.troubles - 1 };
  steps.push(...returns(world, who));
  if (worker.mode === "idle") {
    const { store } = world;
    // A worker does not claim a saga beside a call of its own that it still hears.
    if (world.orphan?.who === who) return steps;
    if (!CLAIMABLE.includes(store.state.status) || (store.owner !== "none" && !store.lapsed)) return steps;
    steps.push([`${name} claims`, claim(world, who, false)]);
    if (world.troubles > 0) steps.push([`${name} claims once too often`, claim(trouble, who, true)]);
    return steps;
  }
  const crashed = (from: World): World =>
    withWorker(
      {
        ...from,
        orphan: from.orphan?.who === who ? undefined : from.orphan,
        store: { ...from.store, owner: from.store.owner === who ? "gone" : from.store.owner },
      },
      who,
      IDLE,
    );
  if (world.troubles > 0) steps.push([`${name} crashes`, crashed(trouble)]);
  if (worker.mode === "hearing") {
    const { orphan, store } = world;
    if (!orphan?.answer) return steps;
    const isOld = store.version !== worker.version;
    const copy = isOld ? { ...store } : worker;
    // A person has led it out of its stall, or another worker has it.
    const isOver =
      store.token !== worker.token ||
      (isOld && worker.state.status === "STALLED" && store.state.status !== "STALLED");
    const then = isOver
      ? withWorker({ ...world, orphan: undefined }, who, IDLE)
      : withWorker(
          world,
          who,
          proceed({ state: copy.state, version: copy.version, token: worker.token }, world, who),
        );
    return [...steps, [`${name} hears of it`, then]];
  }
  if (worker.mode === "calling") {
    for (const { label, effect, outcome, bad } of outcomesOf(world, worker)) {
      if (bad && world.troubles === 0) continue;
      const after = { ...(bad ? trouble : world), effects: world.effects.with(worker.call.index, effect) };
      const settle = (release: boolean): World =>
        withWorker(after, who, settling(worker, worker.call, outcome, release, world));
      steps.push([`${name} ${worker.call.kind} ${worker.call.step}: ${label}`, settle(false)]);
      if (outcome.kind === "failed" && outcome.transient)
        steps.push([`${name} ${label}, long wait`, settle(true)]);
      if (world.troubles > 0 && effect !== world.effects[worker.call.index]) {
        const then = { ...after, troubles: world.troubles - 1 };
        steps.push([`${name} ${worker.call.kind} ${worker.call.step} happens, then a crash`, crashed(then)]);
      }
    }
    if (world.orphans > 0 && world.orphan === undefined && !world.plan[worker.call.index]?.atomic) {
      const orphan = { who, call: worker.call, answer: undefined, overruled: false };
      const after = { ...world, orphans: world.orphans - 1, orphan };
      for (const outcome of [TIMED_OUT, ...(worker.call.kind === "act" && world.expired ? [LATE] : [])])
        steps.push([
          `${name} ${worker.call.kind} ${worker.call.step} does not return`,
          withWorker(after, who, settling(worker, worker.call, outcome, false, after)),
        ]);
    }
    if (world.troubles > 0) {
      const entry = control("$release", {});
      const line = sending(worker, entry, { kind: "release" }, false, world.expired);
      const alone = { ...trouble, orphan: trouble.orphan?.who === who ? undefined : trouble.orphan };
      steps.push([`${name} shuts down`, withWorker(alone, who, line)]);
    }
    return steps;
  }
  if (worker.landed) return [...steps, [`${name} asks again and finds its line`, held(world, who)]];
  const landed = land(world, who, fence);
  steps.push([`${name} writes ${worker.entry.step}`, landed ? held(landed, who) : refused(world, who)]);
  if (landed && world.troubles > 0) {
    const lost = { ...landed, troubles: world.troubles - 1 };
    steps.push([`${name} writes, the answer is lost`, withWorker(lost, who, { ...worker, landed: true })]);
    steps.push([`${name} writes, then crashes`, crashed(lost)]);
  }
  return steps;
}

/** A call that had outlived its time returns, in whatever state its saga is by then. */
function returns(world: World, who: 0 | 1): Step[] {
  const { orphan } = world;
  if (orphan?.who !== who || orphan.answer) return [];
  const name = who === 0 ? "A" : "B";
  const isGone = world.workers[who].mode === "idle";
  return endsOf(world, orphan.call).map(({ label, effect, outcome }) => [
    `${name}'s late ${orphan.call.kind} ${orphan.call.step}: ${label}`,
    {
      ...world,
      effects: world.effects.with(orphan.call.index, effect),
      orphan: isGone ? undefined : { ...orphan, answer: outcome },
    },
  ]);
}

interface Possible {
  readonly label: string;
  readonly effect: Effect;
  readonly outcome: Outcome;
  readonly bad: boolean;
}

const OK: Outcome = { kind: "ok", details: null };
const ERR: Outcome = { kind: "failed", transient: false, failure: { kind: "err", label: "no" } };
const TERMINAL: Outcome = { kind: "failed", transient: false, failure: { kind: "terminal", label: "T" } };
/** The same, where the step has a fallback: they are what it is for, and its circuit may be open. */
const OPEN: Outcome = {
  kind: "failed",
  transient: false,
  failure: { kind: "open", label: "CircuitOpen" },
  qualifies: true,
};
/** The same call, known to run on. */
const TIMED_OUT: Outcome = {
  kind: "failed",
  transient: true,
  failure: { kind: "retry", label: "TimedOut", runningSinceMs: 1 },
};
const LATE: Outcome = {
  kind: "failed",
  transient: false,
  failure: { kind: "deadline", label: "DeadlinePassed", runningSinceMs: 1 },
};
const TRANSIENT: Outcome = { kind: "failed", transient: true, failure: { kind: "retry", label: "E" } };

/** How a call can end. Where it has a fallback, each failure may be one that the fallback is for. */
function outcomesOf(world: World, { call, state }: Extract<Worker, { mode: "calling" }>): Possible[] {
  const all = endsOf(world, call);
  if (call.kind === "undo" || world.plan[call.index]?.fallback === undefined) return all;
  const qualifying = all.flatMap((one): Possible[] =>
    one.outcome.kind === "ok"
      ? []
      : [{ ...one, label: `${one.label}, qualifies`, outcome: { ...one.outcome, qualifies: true } }],
  );
  // Where the fallback could not take over, the breaker is not asked.
  if (takesOver(state, call.index, "open") === undefined) return [...all, ...qualifying];
  const before = world.effects[call.index] as Effect;
  return [...all, ...qualifying, { label: "is kept away", effect: before, outcome: OPEN, bad: true }];
}

/** How a call can end, and what it leaves outside. A transactional call leaves nothing before its line is written. */
function endsOf({ plan, effects }: World, { kind, index }: Call): Possible[] {
  const before = effects[index] as Effect;
  const { atomic, undoOnErr } = plan[index] as World["plan"][number];
  const throws = (effect: Effect): Possible[] => [
    { label: "throws", effect, outcome: TRANSIENT, bad: true },
    { label: "throws Terminal", effect, outcome: TERMINAL, bad: true },
  ];
  if (kind === "undo") {
    const done = { label: "ok", effect: atomic ? before : "undone", outcome: OK, bad: false } as const;
    return [done, ...throws(before), ...(atomic || before === "undone" ? [] : throws("undone"))];
  }
  const no = (effect: Effect): Possible => ({ label: "Err", effect, outcome: ERR, bad: false });
  switch (before) {
    case "refused":
    case "half":
      return [no(before)];
    case "undone":
      // Only a call that is late by a lost lease finds its key undone already.
      return [{ label: "Terminal, too late", effect: before, outcome: TERMINAL, bad: false }];
    case "done":
      return [{ label: "ok again", effect: before, outcome: OK, bad: false }, ...throws(before)];
    default: {
      const after: Effect = atomic ? before : "done";
      const all = [{ label: "ok", effect: after, outcome: OK, bad: false }, ...throws(before)];
      if (!atomic) all.push(...throws("done"));
      all.push(no(atomic ? before : "refused"));
      if (undoOnErr && !atomic) all.push(no("half"));
      return all;
    }
  }
}

/** Time and people. */
function outsideEvents(world: World): Step[] {
  const { store, troubles, orders, expired, effects, plan } = world;
  const { state } = store;
  const steps: Step[] = [];
  if ((store.owner === 0 || store.owner === 1) && !store.lapsed && troubles > 0) {
    steps.push(["the lease lapses", { ...world, store: { ...store, lapsed: true }, troubles: troubles - 1 }]);
  }
  if (store.owner === "gone" && !store.lapsed) {
    steps.push(["the lease of the crashed lapses", { ...world, store: { ...store, lapsed: true } }]);
  }
  if (!expired && CLAIMABLE.includes(state.status) && troubles > 0) {
    steps.push(["the deadline passes", { ...world, expired: true, troubles: troubles - 1 }]);
  }
  steps.push(...arrivals(world));
  if (orders === 0) return steps;
  const actions = allowedActions(state);
  const order = (name: string, entry: Entry, change: Partial<World> = {}): void => {
    const orphan = world.orphan && {
      ...world.orphan,
      overruled: name !== "cancel" || state.status === "STALLED",
    };
    steps.push([name, { ...appendByOperator(world, entry), orphan, orders: orders - 1, ...change }]);
  };
  const note: ControlDetails = { reason: "why" };
  if (actions.includes("cancel")) {
    const stalled = state.status === "STALLED";
    const isInDoubt = stalled && !canTurn(state);
    const didNotHappen = { ...note, kind: "cancelled", step: state.stall?.step, pivotDidNotHappen: true };
    if (isInDoubt) {
      // A person who says so has made sure of it: no call of the pivot is out any more, and none has had an effect.
      const pivots = plan.flatMap(({ pivot }, index) => (pivot ? [index] : []));
      const isOut = world.workers.some((one) => one.mode === "calling" && pivots.includes(one.call.index));
      const isSure = pivots.every((index) => effects[index] === "none" || effects[index] === "undone");
      if (isSure && !isOut && !world.orphan) order("cancel: no pivot", control("$turn", didNotHappen));
    } else
      order(
        "cancel",
        stalled ? turnEntry({ ...state, cancel: note }, "cancelled") : control("$cancel", note),
      );
  }
  if (actions.includes("retry")) order("retry", control("$retry", note));
  if (actions.includes("skip")) {
    for (const name of skippable(state)) {
      const index = plan.findIndex((step) => step.name === name);
      // Whoever skips has done the step's work by hand: the undo going back, the act going forward.
      const byHand: Effect = state.steps[index]?.undo === "failed" ? "undone" : "done";
      order(`skip ${name}`, control("$skip", { ...note, step: name }), {
        effects: effects.with(index, byHand),
      });
    }
  }
  if (actions.includes("resolve")) {
    for (const as of ["COMPLETED", "FAILED"] as const) {
      order(`resolve as ${as}`, control("$resolve", { ...note, as }), { resolved: true });
    }
  }
  return steps;
}

/** What is waited for comes when it comes, also before anybody waits for it; time passes only for who waits. */
function arrivals(world: World): Step[] {
  const { plan, effects, store, troubles } = world;
  return plan.flatMap(({ name, wait }, index) => {
    if (!wait || effects[index] !== "none" || !CLAIMABLE.includes(store.state.status)) return [];
    const steps: Step[] = [];
    const isWaiting = store.state.steps[index]?.act === "waiting";
    const becomes = (effect: Effect): World => ({ ...world, effects: effects.with(index, effect) });
    if (wait.kind !== "sleep") steps.push([`what ${name} waits for comes`, becomes("done")]);
    if (wait.limitMs === undefined || !isWaiting) return steps;
    if (wait.kind === "sleep" || wait.goesOn) steps.push([`${name} has waited long enough`, becomes("done")]);
    else if (troubles > 0)
      steps.push([`the time of ${name} is over`, { ...becomes("refused"), troubles: troubles - 1 }]);
    return steps;
  });
}

/** A line from outside the worker. A saga that nobody runs, or that changes its status, has no owner afterwards. */
function appendByOperator(world: World, entry: Entry): World {
  const { store } = world;
  const state = evolve(store.state, entry);
  const running = store.owner !== "none" && state.status === store.state.status;
  return {
    ...world,
    turned: world.turned || state.status === "COMPENSATING",
    store: {
      ...store,
      state,
      version: store.version + 1,
      owner: running ? store.owner : "none",
      lapsed: running && store.lapsed,
    },
  };
}
