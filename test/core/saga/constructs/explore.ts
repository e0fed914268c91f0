/** Breadth first over every world that can be reached from a plan, and back from the ends over the same arrows. */
import { sagaMachine } from "../../../../src/core/saga/machine.ts";
import { decodePlan } from "../../../../src/core/saga/plan.ts";
import { eventsOf, type Step } from "./events.ts";
import { checkStep, checkWorld, type Report, type Rule } from "./invariants.ts";
import { beginning, keyOf, type Budget, type World } from "./world.ts";

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
  readonly plan: string;
  readonly trace: readonly string[];
}

export interface Exploration {
  worlds: number;
  arrows: number;
  readonly violations: Violation[];
  /** What happened at least once. */
  readonly seen: Set<string>;
}

export function newExploration(): Exploration {
  return { worlds: 0, arrows: 0, violations: [], seen: new Set() };
}

/** At most so many violations are kept of one rule: one trace says it all. */
const KEPT = 3;

/** `spoil` changes each world that is reached: the test of the check makes mistakes there. */
export function explore(
  found: Exploration,
  text: string,
  budget: Budget,
  spoil: (world: World) => World = (world) => world,
): void {
  const numbers = new Map<string, number>();
  const worlds: World[] = [];
  const parents: number[] = [];
  const labels: string[] = [];
  const back: number[][] = [];
  const traceOf = (index: number): string[] => {
    const trace: string[] = [];
    for (let at = index; at >= 0; at = parents[at] as number) trace.push(labels[at] as string);
    return trace.toReversed();
  };
  const reporter =
    (index: number, last?: string): Report =>
    (rule, what) => {
      if (found.violations.filter((one) => one.rule === rule).length >= KEPT) return;
      const trace = last === undefined ? traceOf(index) : [...traceOf(index), last];
      found.violations.push({ rule, what, plan: text, trace });
    };
  const visit = (world: World, parent: number, label: string): number => {
    const key = keyOf(world);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    const index = worlds.push(world) - 1;
    numbers.set(key, index);
    parents.push(parent);
    labels.push(label);
    back.push([]);
    checkWorld(world, reporter(index));
    found.seen.add(world.state.isReversal ? `${world.state.status} (taken back)` : world.state.status);
    return index;
  };
  visit(beginning(decodePlan(text), budget), -1, "PENDING");
  for (let at = 0; at < worlds.length; at++) {
    const before = worlds[at] as World;
    for (const [label, reached] of possible(before, reporter(at))) {
      const after = spoil(reached);
      checkStep(before, after, reporter(at, label));
      (back[visit(after, at, label)] as number[]).push(at);
      found.arrows++;
    }
  }
  found.worlds += worlds.length;
  const lost = firstWithoutEnd(worlds, back);
  if (lost >= 0) reporter(lost)("T-END", "no end can be reached");
}

/** The interpreter asserts its own arrows: where it throws, something impossible was asked of it. */
function possible(world: World, report: Report): readonly Step[] {
  try {
    return eventsOf(world, report);
  } catch (error) {
    report("K-14", String(error));
    return [];
  }
}

/** The first world from which no end can be reached, even if nothing more goes wrong; -1 where there is none. */
function firstWithoutEnd(worlds: readonly World[], back: readonly (readonly number[])[]): number {
  const reaches = new Uint8Array(worlds.length);
  const open: number[] = [];
  worlds.forEach(({ state, orders }, index) => {
    // A stalled saga ends by a person, and people were rationed here.
    if (sagaMachine.isTerminal(state.status) || (state.status === "STALLED" && orders === 0))
      open.push(index);
  });
  while (open.length > 0) {
    const index = open.pop() as number;
    if (reaches[index] === 1) continue;
    reaches[index] = 1;
    for (const from of back[index] as readonly number[]) if (reaches[from] === 0) open.push(from);
  }
  return reaches.indexOf(0);
}
