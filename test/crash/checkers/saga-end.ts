/** The guarantees at the end of a saga: everything that it promises was done, or everything that may have happened was undone. */
import type { PlannedStep } from "../../../src/core/saga/plan.ts";
import type { StepState } from "../../../src/core/saga/state.ts";
import { callKey } from "../../../src/sagas/engine/call-key.ts";
import type { SagaHistory } from "./saga-history.ts";

/** What is undone as one: a step, an item of its list, or all of its rounds. */
interface Unit {
  readonly name: string;
  readonly planned: PlannedStep;
  /** The keys of its calls. */
  readonly acts: readonly string[];
  /** The keys of the lines that end it: those of its calls, or of a wait of its own. */
  readonly ends: readonly string[];
  readonly undo: string;
}

function unitsOf({ record: { id, reverses }, state }: SagaHistory): readonly Unit[] {
  const key = (step: string, part: string, action: "act" | "compensate"): string =>
    callKey(reverses ?? id, step, part, action);
  return state.plan.flatMap((planned, index): Unit[] => {
    const { name } = planned;
    const { items, round = 0 } = state.steps[index] as StepState;
    const unit = (part: string, acts: readonly string[]): Unit => ({
      name: part,
      planned,
      acts,
      ends: [...acts, key(name, part, "act")],
      undo: key(name, part, "compensate"),
    });
    if (items)
      return items.list.map((item) => {
        const part = `${name}[${item.key}]`;
        return unit(part, [key(name, part, "act")]);
      });
    const rounds = Array.from({ length: round }, (_, at) => `${name}[${at + 1}]`);
    return [
      unit(
        name,
        (planned.repeat ? rounds : [name]).map((part) => key(name, part, "act")),
      ),
    ];
  });
}

/** They do not apply if an operator skipped or resolved work. */
export function checkEnd(history: SagaHistory): string[] {
  const { record, state, starts, done, refused, uncalled, isByOperator } = history;
  const wrong: string[] = [];
  const report = (rule: string, what: string): void => void wrong.push(`${rule}: saga ${record.id}: ${what}`);
  const all = unitsOf(history);
  const units = all.filter(({ planned }) => planned.end === undefined);
  // A step that its fallback replaced was undone before the fallback started, whatever the saga did then.
  const isPassed = ({ planned: { fallback } }: Unit): boolean =>
    units.some(({ name, acts }) => name === fallback && acts.some((act) => starts.has(act)));
  const cleared = new Set(units.filter(isPassed).map(({ undo }) => undo));
  const last = all.filter(({ planned }) => planned.end !== undefined);
  const isOwn = (key: string): boolean => !cleared.has(key) && last.every(({ undo }) => undo !== key);
  const undos = [...starts.entries()].filter(([key]) => key.endsWith(":undo") && isOwn(key));
  const order = undos
    .toSorted(([, a], [, b]) => (a[0]?.version ?? 0) - (b[0]?.version ?? 0))
    .map(([key]) => units.findIndex(({ undo }) => key === undo));
  if (order.some((index, at) => at > 0 && index >= (order[at - 1] as number)))
    report("I6", "its undos did not begin in reverse order");
  const isReversal = state.isReversal === true;
  for (const { name, planned, acts, undo } of isReversal ? [] : last) {
    const isWanted = planned.end === (state.status === "COMPLETED" ? "completed" : "failed");
    const key = planned.end === "completed" ? (acts[0] as string) : undo;
    const first = starts.get(undo)?.[0]?.version ?? Infinity;
    const later = undos.some(([, begun]) => begun.some(({ version }) => version > first));
    if (later) report("S-46", `an undo began after ${name}`);
    if (!isWanted && done.has(key)) report("S-46", `${state.status}, but ${name} was done`);
    if (isWanted && !isByOperator && isTerminal(state) && !done.has(key))
      report("S-46", `${state.status}, but ${name} was not done`);
  }
  if (isByOperator) return wrong;
  const isReversed = state.isReversal === true && state.status === "COMPLETED";
  for (const unit of units) {
    const { name, planned, acts, ends } = unit;
    const isDone = ends.some((end) => done.has(end));
    const other = units.find((one) => one.name === (planned.fallback ?? planned.instead));
    const isOther = other !== undefined && other.acts.some((act) => done.has(act));
    if (state.status === "COMPLETED" && !isReversed) {
      if (isOther && isDone) report("S-20", `both step ${name} and its fallback are done`);
      const isOwed = !isOffTheWay(history, planned) && !isOther;
      if (isOwed && !isDone) report("I6", `COMPLETED, but step ${name} is not done`);
      if (!isOwed && acts.some((act) => starts.has(act)) && planned.branch)
        report("S-34", `step ${name} began, although its branch was not chosen`);
    }
    if ((state.status !== "FAILED" && !isReversed) || !planned.undo) continue;
    if (planned.each && !name.includes("[")) continue;
    const begun = acts.filter((act) => starts.has(act));
    const isSure = (act: string): boolean =>
      uncalled.has(act) || (refused.has(act) && (!planned.undoOnErr || planned.child !== undefined));
    const nothingHappened = !acts.some((act) => done.has(act)) && (planned.atomic || begun.every(isSure));
    if (begun.length > 0 && !nothingHappened && !done.has(unit.undo))
      report("I6", `${state.status}, but step ${name} may have happened and was not undone`);
  }
  if (state.status === "COMPLETED" && !isReversed && undos.length > 0)
    report("I6", "COMPLETED, but some steps were undone");
  return wrong;
}

function isTerminal({ status }: SagaHistory["state"]): boolean {
  return status === "COMPLETED" || status === "FAILED";
}

/** The step stands in a branch that was not chosen. */
function isOffTheWay(history: SagaHistory, { branch }: PlannedStep): boolean {
  if (!branch) return false;
  const { plan, steps } = history.state;
  const at = plan.findIndex(({ name }) => name === branch.choice);
  return isOffTheWay(history, plan[at] as PlannedStep) || (steps[at]?.result === true) !== branch.when;
}
