/** The sagas of one schedule as they are stored: the one that is proven, its children, and those that take sagas back. */
import { partOf } from "../../core/saga/part-name.ts";
import { outcomeOf, type SagaOutcome } from "../../sagas/view/outcome.ts";
import { sagaMachine } from "../../core/saga/machine.ts";
import type { SagaState } from "../../core/saga/state.ts";
import type { ChildEvidence, Evidence } from "./judge.ts";
import type { Rig } from "./rig.ts";
import type { Found, TestBed } from "./test-bed.ts";
import { itemName, nameIn, sitesOf } from "./tree.ts";
import type { Schedule } from "./trouble.ts";

/** The status that says "needs a person". */
type Stalled = Extract<SagaOutcome, { status: "STALLED" }>;

export class Family {
  /** The saga that takes back the one that is proven, once there is one. */
  reversal: string | undefined;
  readonly #bed: TestBed;
  readonly #rig: Rig;
  readonly #schedule: Schedule;
  readonly #id: string;
  #members: readonly Found[] = [];
  /** Of sagas that take others back: the path of the saga that is taken back. */
  readonly #reversals = new Map<string, string>();

  constructor(bed: TestBed, rig: Rig, schedule: Schedule, id: string) {
    this.#bed = bed;
    this.#rig = rig;
    this.#schedule = schedule;
    this.#id = id;
  }

  async read(): Promise<void> {
    const root = await this.#bed.read();
    const members = root ? [root] : [];
    const ids = [...this.#rig.children.keys(), ...(this.reversal === undefined ? [] : [this.reversal])];
    const seen = new Set([this.#id, ...ids]);
    const follow = ({ state, id }: Found): void => {
      for (const [index, { awaited }] of state.steps.entries()) {
        if (!awaited || seen.has(awaited.saga)) continue;
        seen.add(awaited.saga);
        ids.push(awaited.saga);
        const step = state.plan[index]?.name as string;
        if (awaited.isReversal) this.#reversals.set(awaited.saga, nameIn(this.#pathOf(id), step));
      }
    };
    if (root) follow(root);
    for (const id of ids) {
      const found = await this.#bed.find(id);
      if (!found) continue;
      members.push(found);
      follow(found);
    }
    this.#members = members;
  }

  get root(): Found | undefined {
    return this.#members[0];
  }

  /** Those that are neither ended nor stalled. */
  get open(): readonly Found[] {
    return this.#members.filter(({ id, state }) => outcomeOf(id, state) === undefined);
  }

  /** The first one that waits for a person. Those that wait for it cannot end. */
  get stalled(): Stalled | undefined {
    return this.#stalledOne && (outcomeOf(this.#stalledOne.id, this.#stalledOne.state) as Stalled);
  }

  get #stalledOne(): Found | undefined {
    return this.#members.find(({ state }) => state.status === "STALLED");
  }

  /** The saga with this path, if it was started. */
  at(path: string): Found | undefined {
    return this.#members.find(
      ({ id }) => id !== this.reversal && !this.#reversals.has(id) && this.#pathOf(id) === path,
    );
  }

  /** The name of the step that starts this saga. */
  nameOf({ id }: Found): string {
    return this.#pathOf(id);
  }

  #pathOf(id: string): string {
    return this.#rig.children.get(id) ?? this.#reversals.get(id) ?? "";
  }

  get evidence(): Evidence {
    const { plan, settings } = this.#bed.process.saga;
    const children = new Map<string, ChildEvidence>();
    const committed = new Set<string>();
    const sites = sitesOf(this.#bed.process.saga);
    for (const { name, step } of sites) {
      if (!step.child) continue;
      children.set(name, { plan: step.child.saga.plan, status: this.at(name)?.state.status });
    }
    for (const { name, path, index, step } of sites) {
      const { act, undo } = this.at(path)?.state.steps[index] ?? {};
      if ((step.planned.end === "failed" ? undo : act) === "done") committed.add(name);
    }
    const { root } = this;
    const stalled = this.#stalledOne;
    const hasEnded = root !== undefined && sagaMachine.isTerminal(root.state.status);
    return {
      plan,
      calls: this.#rig.calls,
      schedule: this.#schedule,
      outcome: this.stalled ?? (hasEnded ? outcomeOf(this.#id, root.state) : undefined),
      committed,
      recoveryMax: settings.recoveryMax,
      children,
      isReversed: this.reversal !== undefined,
      nameOf: (logged) => (stalled ? seedName(this.nameOf(stalled), stalled.state, logged) : logged),
    };
  }
}

/** The log numbers the items of a list; a seed names them by their keys. */
function seedName(path: string, { plan, steps }: SagaState, logged: string): string {
  const { step, number } = partOf(logged);
  const items = steps[plan.findIndex(({ name }) => name === step)]?.items;
  const item = number === undefined ? undefined : items?.list[number];
  return item ? itemName(nameIn(path, step), item.key) : nameIn(path, logged);
}
