/**
 * Compares the recorded calls of steps with the log. Fencing protects the tables only: a worker that was stopped past
 * its lease still makes the call that it was about to make, once, under the same key. Everything else is a violation.
 */
import type { Row } from "../../../src/storage/database.ts";
import { partOf, stepOf } from "../../../src/core/saga/part-name.ts";
import type { PlannedStep } from "../../../src/core/saga/plan.ts";
import type { SagaHistory } from "./saga-history.ts";
import type { Effect } from "../external-world/effects.ts";

/** More items than any list has. */
const LONGEST_LIST = 100_000;

/** A recorded call; `at` is the line number in the file. */
interface Call extends Effect {
  readonly at: number;
  readonly endedAt: number;
  readonly ended: Effect["outcome"];
  /** The token under which the log started it. */
  readonly token: number;
}

export function checkSagaCalls(
  histories: ReadonlyMap<string, SagaHistory>,
  effects: readonly Effect[],
  outbox: readonly Row[],
): string[] {
  const wrong: string[] = [];
  const calls = callsBySaga(histories, effects);
  for (const [id, made] of calls) {
    const history = histories.get(id);
    if (!history) wrong.push(`S-07: saga ${id}: a step was called, but the saga does not exist`);
    else
      wrong.push(...checkCalls(history, made), ...checkOrder(history, made), ...checkUndone(history, made));
  }
  for (const history of histories.values()) {
    const { id, reverses } = history.record;
    const own = calls.get(id) ?? [];
    const copied = reverses === undefined ? [] : (calls.get(reverses) ?? []);
    wrong.push(...checkDone(history, [...copied, ...own]), ...checkTakenBack(history, own, copied));
  }
  wrong.push(...checkEvents(histories, effects, outbox));
  return wrong;
}

/** An undo under the key of a completed saga that this saga did not begin is a call of the saga that takes it back. */
function callsBySaga(
  histories: ReadonlyMap<string, SagaHistory>,
  effects: readonly Effect[],
): Map<string, Call[]> {
  const reversals = new Map(
    [...histories.values()].map((history) => [history.record.reverses, history] as const),
  );
  const ownerOf = ({ sagaId, action, key }: Effect): string => {
    const isOwn = action === "act" || histories.get(sagaId)?.starts.has(key) === true;
    return isOwn ? sagaId : (reversals.get(sagaId)?.record.id ?? sagaId);
  };
  const ends = new Map<string, { at: number; outcome: Effect["outcome"] }>();
  const nameOf = ({ key, attempt, pid }: Effect): string => `${key}#${attempt}#${pid}`;
  effects.forEach((effect, at) => {
    if (effect.phase === "ended") ends.set(nameOf(effect), { at, outcome: effect.outcome });
  });
  const calls = new Map<string, Call[]>();
  effects.forEach((effect, at) => {
    if (effect.phase !== "begun") return;
    const end = ends.get(nameOf(effect));
    const owner = ownerOf(effect);
    const token = histories.get(owner)?.starts.get(effect.key)?.[effect.attempt - 1]?.token ?? Infinity;
    const call = { ...effect, at, token, endedAt: end?.at ?? Infinity, ended: end?.outcome };
    const known = calls.get(owner);
    if (known) known.push(call);
    else calls.set(owner, [call]);
  });
  return calls;
}

/** Each call was started in the log before it was made, and each start led to at most one call. */
function checkCalls({ record, starts }: SagaHistory, calls: readonly Call[]): string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const { key, step, attempt } of calls) {
    if (attempt > (starts.get(key)?.length ?? 0))
      wrong.push(`S-07: ${key}: call ${attempt} was made, but the log did not start it`);
    // A transactional step is called again after a rollback, which removes all its writes.
    const isAtomic = plannedOf(record, step)?.atomic === true;
    if (seen.has(`${key}#${attempt}`) && !isAtomic)
      wrong.push(`I2: ${key}: attempt ${attempt} was called more than once`);
    seen.add(`${key}#${attempt}`);
  }
  return wrong;
}

/** The step of the plan that a call is for. */
function plannedOf({ plan }: SagaHistory["record"], call: string): PlannedStep | undefined {
  const step = stepOf(call);
  return plan.find(({ name }) => name === step);
}

/** The name of what is undone as one: a step, an item of its list, or all of its rounds. */
function unitOf(record: SagaHistory["record"], call: string): string {
  return plannedOf(record, call)?.each ? call : stepOf(call);
}

/** The place of what a call is for, in the order of acts: the step in the plan, and the item in its list. */
function placeOf({ plan }: SagaHistory["record"], call: string): number {
  const { step, number = 0 } = partOf(call);
  return plan.findIndex(({ name }) => name === step) + number / LONGEST_LIST;
}

/** True if the step's fallback was called: the step was undone, and the saga continued. */
function isPassedOver({ record }: SagaHistory, name: string, calls: readonly Call[]): boolean {
  const fallback = record.plan.find((step) => step.name === name)?.fallback;
  return fallback !== undefined && calls.some(({ step }) => step === fallback);
}

/** An undo starts after its act has ended or its worker was lost, in reverse order, and no act follows it. */
function checkOrder(history: SagaHistory, calls: readonly Call[]): string[] {
  const { record } = history;
  const wrong: string[] = [];
  const acts = calls.filter(({ action }) => action === "act");
  const undos = calls.filter(({ action }) => action === "compensate");
  for (const undo of undos) {
    for (const act of acts) {
      if (act.token < undo.token) continue; // the worker of this call had lost the saga
      if (unitOf(record, act.step) === unitOf(record, undo.step) && act.at < undo.at && act.endedAt > undo.at)
        wrong.push(`S-12: ${undo.key}: the undo began while its act was still running`);
      else if (act.at < undo.at && act.endedAt > undo.at)
        wrong.push(`S-24: ${undo.key}: the undo began while ${act.key} was still running`);
      const isCleared = act.step !== undo.step && isPassedOver(history, undo.step, calls);
      if (act.at > undo.at && !isCleared)
        wrong.push(`S-06: ${act.key}: the act was called after ${undo.step} was undone`);
    }
  }
  const first = [...new Set(undos.map(({ step }) => step))].filter(
    (step) => !isPassedOver(history, step, calls) && plannedOf(record, step)?.end === undefined,
  );
  const ends = undos.filter(({ step }) => plannedOf(record, step)?.end !== undefined);
  // A worker that had lost the saga, frozen before its call, may make that call at any time.
  const late = undos.find(
    (undo) => !ends.includes(undo) && ends.some(({ at, token }) => at < undo.at && token <= undo.token),
  );
  if (late) wrong.push(`S-46: ${late.key}: the undo was called after what follows the end`);
  const indexes = first.map((step) => placeOf(record, step));
  if (indexes.some((index, at) => at > 0 && index >= (indexes[at - 1] as number)))
    wrong.push(`I6: saga ${record.id}: the undos were called in the order ${first.join(", ")}`);
  return wrong;
}

/** FAILED: every called act was undone. COMPLETED: only steps that their fallback replaced were undone. */
function checkUndone(history: SagaHistory, calls: readonly Call[]): string[] {
  const { record, state, isByOperator } = history;
  if (isByOperator || record.reverses !== undefined) return [];
  const wrong: string[] = [];
  const undos = calls.filter(({ action }) => action === "compensate");
  const amiss = undos.find(({ step }) => !isPassedOver(history, step, calls));
  if (state.status === "COMPLETED" && amiss)
    wrong.push(`I6: saga ${record.id}: COMPLETED, but the undo of ${amiss.step} was called`);
  if (state.status !== "FAILED" && state.status !== "COMPLETED") return wrong;
  for (const act of calls.filter(({ action }) => action === "act")) {
    if (state.status === "COMPLETED" && !isPassedOver(history, act.step, calls)) continue;
    if (!mayHaveEffects(history, act)) continue;
    const isUndone = undos.some(
      (undo) =>
        unitOf(record, undo.step) === unitOf(record, act.step) &&
        undo.ended === "ok" &&
        (undo.at > act.at || act.token < undo.token),
    );
    if (!isUndone) wrong.push(`I6: ${act.key}: ${state.status}, but no undo followed call ${act.attempt}`);
  }
  return wrong;
}

/** A saga that has taken another back has called the undo of every act of it that is done. */
function checkTakenBack(history: SagaHistory, calls: readonly Call[], acts: readonly Call[]): string[] {
  const { record, state, done, isByOperator } = history;
  if (state.isReversal !== true || state.status !== "COMPLETED" || isByOperator) return [];
  return acts
    .filter((act) => act.action === "act" && done.has(act.key) && mayHaveEffects(history, act))
    .filter((act) => !isPassedOver(history, act.step, acts))
    .filter(
      (act) =>
        !calls.some(({ step, ended }) => ended === "ok" && unitOf(record, step) === unitOf(record, act.step)),
    )
    .map((act) => `S-36: ${act.key}: the saga was taken back, but no undo was called`);
}

/** The act can be undone, and may have done something that is to be undone. */
function mayHaveEffects({ record, refused, done }: SagaHistory, act: Call): boolean {
  const planned = plannedOf(record, act.step);
  if (!planned?.undo || planned.end !== undefined || (planned.atomic && !done.has(act.key))) return false;
  // The call that computes a list does nothing else.
  if (planned.each && act.step === planned.name) return false;
  const isRefused = refused.has(act.key) && !done.has(act.key);
  return !isRefused || (planned.undoOnErr && planned.child === undefined);
}

/** Every outcome that is recorded as done belongs to a call that succeeded. */
function checkDone({ record, done }: SagaHistory, calls: readonly Call[]): string[] {
  const id = record.reverses ?? record.id;
  // A wait has no call, and a signal may end a step in rounds beside its calls.
  const waits = record.plan
    .filter(({ wait, repeat }) => wait ?? repeat)
    .map(({ name }) => `${id}:${name}:act`);
  return [...done]
    .filter((key) => !waits.includes(key))
    .filter((key) => !calls.some((call) => call.key === key && call.ended === "ok"))
    .map((key) => `I2: ${key}: recorded as done, but no call of it succeeded`);
}

/** An emitted event is in the outbox once if its call's outcome is recorded, and absent otherwise. */
function checkEvents(
  histories: ReadonlyMap<string, SagaHistory>,
  effects: readonly Effect[],
  outbox: readonly Row[],
): string[] {
  const wrong: string[] = [];
  const found = new Map<string, number>();
  for (const row of outbox) {
    const name = `${String(row["saga_id"])} ${String(row["name"])}`;
    found.set(name, (found.get(name) ?? 0) + 1);
  }
  const expected = new Set<string>();
  if (!effects.some(({ phase }) => phase === "emitted")) return wrong;
  for (const { phase, sagaId, key, type } of effects) {
    const history = histories.get(sagaId);
    if (phase === "emitted" && history && (history.done.has(key) || history.refused.has(key)))
      expected.add(`${sagaId} ${type}`);
  }
  for (const name of expected)
    if (found.get(name) !== 1)
      wrong.push(`S-28: event ${name} is in the outbox ${found.get(name) ?? 0} times`);
  for (const name of found.keys())
    if (!expected.has(name))
      wrong.push(`S-28: event ${name} is in the outbox, but the outcome of its step is not recorded`);
  return wrong;
}
