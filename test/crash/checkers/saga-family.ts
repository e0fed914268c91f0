/** The invariants of sagas that belong together: parents and the children of their steps, sagas and those that take them back. */
import { sagaMachine } from "../../../src/core/saga/machine.ts";
import { stepOf } from "../../../src/core/saga/part-name.ts";
import type { LogEntry } from "../../../src/sagas/journal/journal.ts";
import type { SagaHistory } from "./saga-history.ts";

export function checkFamilies(histories: ReadonlyMap<string, SagaHistory>): string[] {
  const wrong: string[] = [];
  const all = [...histories.values()];
  const places = new Map<string, string>();
  const takenBack = new Map<string, SagaHistory>();
  for (const history of all) {
    const { id, parent, reverses } = history.record;
    if (reverses !== undefined) {
      const other = takenBack.get(reverses);
      if (other) wrong.push(`S-36: saga ${reverses}: both ${other.record.id} and ${id} take it back`);
      takenBack.set(reverses, history);
      const original = histories.get(reverses);
      if (original && !isCopyOf(history.record.entries, original.record.entries))
        wrong.push(`S-36: saga ${id}: its log does not begin with that of ${reverses}`);
    }
    if (parent === undefined) continue;
    const place = `${parent.id}:${parent.step}`;
    const other = places.get(place);
    if (other !== undefined) wrong.push(`S-26: step ${place} has two children: ${other} and ${id}`);
    places.set(place, id);
  }
  for (const child of all) {
    const parent = child.record.parent && histories.get(child.record.parent.id);
    if (parent) wrong.push(...checkChild(child, parent, takenBack.get(child.record.id), all));
  }
  return wrong;
}

function isCopyOf(lines: readonly LogEntry[], original: readonly LogEntry[]): boolean {
  const text = ({ step, action, status, details }: LogEntry): string =>
    [step, action, status, details].join(" ");
  return original.every((line, at) => {
    const copy = lines[at];
    return copy !== undefined && text(copy) === text(line);
  });
}

/** Once the parent has ended, the child has ended as well, in the way that the parent's end says. An operator may decide otherwise. */
function checkChild(
  child: SagaHistory,
  parent: SagaHistory,
  reversal: SagaHistory | undefined,
  all: readonly SagaHistory[],
): string[] {
  const { id, reverses } = child.record;
  if (!sagaMachine.isTerminal(parent.state.status) || parent.isByOperator) return [];
  const { status } = child.state;
  const step = stepOf((child.record.parent as { readonly step: string }).step.replace(/~$/, ""));
  const is = `saga ${parent.record.id} is ${parent.state.status}`;
  if (!sagaMachine.isTerminal(status)) return [`S-26: ${is}, but saga ${id}, which it started, is ${status}`];
  if (reverses !== undefined || child.isByOperator) return [];
  if (parent.state.status === "COMPLETED") {
    // A step whose child failed may have been tried again, with another child.
    const isOfStep = ({ record }: SagaHistory): boolean =>
      record.parent?.id === parent.record.id && stepOf(record.parent.step) === step;
    const isDone = all.some((one) => isOfStep(one) && one.state.status === "COMPLETED");
    return isDone ? [] : [`S-26: ${is}, but its child ${id} is ${status}`];
  }
  const isGone = status === "FAILED" || reversal?.state.status === "COMPLETED";
  return isGone ? [] : [`S-26: ${is}, but its child ${id} was not taken back`];
}
