/**
 * Holds the world against the books. Fencing protects the books only: a worker that slept past its lease makes the call
 * that it was about to make, once, under the same key. Whatever goes beyond that is a violation.
 */
import type { Row } from "../../src/storage/database.ts";
import type { Book } from "./books.ts";
import type { Effect } from "./effects.ts";

/** A call as the world saw it; `at` counts the lines of the file. */
interface Call extends Effect {
  readonly at: number;
  readonly endedAt: number;
  readonly ended: Effect["outcome"];
  /** The token under which the books let it begin. */
  readonly token: number;
}

export function compareWithWorld(
  books: ReadonlyMap<string, Book>,
  effects: readonly Effect[],
  outbox: readonly Row[],
): string[] {
  const wrong: string[] = [];
  const calls = callsBySaga(books, effects);
  for (const [id, made] of calls) {
    const book = books.get(id);
    if (!book) wrong.push(`S-07: saga ${id}: the world was called for a saga that is not in the books`);
    else wrong.push(...checkCalls(book, made), ...checkOrder(book, made), ...checkUndone(book, made));
  }
  for (const book of books.values()) wrong.push(...checkDone(book, calls.get(book.record.id) ?? []));
  wrong.push(...checkEvents(books, effects, outbox));
  return wrong;
}

function callsBySaga(books: ReadonlyMap<string, Book>, effects: readonly Effect[]): Map<string, Call[]> {
  const ends = new Map<string, { at: number; outcome: Effect["outcome"] }>();
  const nameOf = ({ key, attempt, pid }: Effect): string => `${key}#${attempt}#${pid}`;
  effects.forEach((effect, at) => {
    if (effect.phase === "ended") ends.set(nameOf(effect), { at, outcome: effect.outcome });
  });
  const calls = new Map<string, Call[]>();
  effects.forEach((effect, at) => {
    if (effect.phase !== "begun") return;
    const end = ends.get(nameOf(effect));
    const token = books.get(effect.sagaId)?.begins.get(effect.key)?.[effect.attempt - 1]?.token ?? Infinity;
    const call = { ...effect, at, token, endedAt: end?.at ?? Infinity, ended: end?.outcome };
    const known = calls.get(effect.sagaId);
    if (known) known.push(call);
    else calls.set(effect.sagaId, [call]);
  });
  return calls;
}

/** Each call was begun in the books before it was made, and each beginning led to one call at most. */
function checkCalls({ record, begins }: Book, calls: readonly Call[]): string[] {
  const wrong: string[] = [];
  const seen = new Set<string>();
  for (const { key, step, attempt } of calls) {
    if (attempt > (begins.get(key)?.length ?? 0))
      wrong.push(`S-07: ${key}: call ${attempt} was made, but the books do not say that it began`);
    // A transactional step is called again where its transaction was rolled back: nothing of it is left.
    const isAtomic = record.plan.some(({ name, atomic }) => atomic && name === step);
    if (seen.has(`${key}#${attempt}`) && !isAtomic)
      wrong.push(`I2: ${key}: attempt ${attempt} was called more than once`);
    seen.add(`${key}#${attempt}`);
  }
  return wrong;
}

/** A step whose fallback was called: it was undone first, and the saga went on all the same. */
function isPassedOver({ record }: Book, name: string, calls: readonly Call[]): boolean {
  const fallback = record.plan.find((step) => step.name === name)?.fallback;
  return fallback !== undefined && calls.some(({ step }) => step === fallback);
}

/** Undo comes after its act is over or its worker was lost, in reverse, and nothing goes forward after it. */
function checkOrder(book: Book, calls: readonly Call[]): string[] {
  const { record } = book;
  const wrong: string[] = [];
  const acts = calls.filter(({ action }) => action === "act");
  const undos = calls.filter(({ action }) => action === "compensate");
  for (const undo of undos) {
    for (const act of acts) {
      if (act.token < undo.token) continue; // whoever made this call had lost the saga
      if (act.step === undo.step && act.at < undo.at && act.endedAt > undo.at)
        wrong.push(`S-12: ${undo.key}: the undo began while its act was still running`);
      else if (act.at < undo.at && act.endedAt > undo.at)
        wrong.push(`S-24: ${undo.key}: the undo began while ${act.key} was still running`);
      const isCleared = act.step !== undo.step && isPassedOver(book, undo.step, calls);
      if (act.at > undo.at && !isCleared)
        wrong.push(`S-06: ${act.key}: it went forward after ${undo.step} was undone`);
    }
  }
  const first = [...new Set(undos.map(({ step }) => step))].filter(
    (step) => !isPassedOver(book, step, calls),
  );
  const indexes = first.map((step) => record.plan.findIndex(({ name }) => name === step));
  if (indexes.some((index, at) => at > 0 && index >= (indexes[at - 1] as number)))
    wrong.push(`I6: saga ${record.id}: the world was undone in the order ${first.join(", ")}`);
  return wrong;
}

/** FAILED: whatever was called has been undone since. COMPLETED: only what was passed over. */
function checkUndone(book: Book, calls: readonly Call[]): string[] {
  const { record, state, byHand, refused, done } = book;
  if (byHand) return [];
  const wrong: string[] = [];
  const undos = calls.filter(({ action }) => action === "compensate");
  const amiss = undos.find(({ step }) => !isPassedOver(book, step, calls));
  if (state.status === "COMPLETED" && amiss)
    wrong.push(`I6: saga ${record.id}: COMPLETED, but ${amiss.step} was undone in the world`);
  if (state.status !== "FAILED" && state.status !== "COMPLETED") return wrong;
  for (const act of calls.filter(({ action }) => action === "act")) {
    if (state.status === "COMPLETED" && !isPassedOver(book, act.step, calls)) continue;
    const planned = record.plan.find(({ name }) => name === act.step);
    if (!planned?.undo || (planned.atomic && !done.has(act.key))) continue;
    if (refused.has(act.key) && !done.has(act.key) && !planned.undoOnErr) continue;
    const isUndone = undos.some(
      (undo) => undo.step === act.step && undo.ended === "ok" && (undo.at > act.at || act.token < undo.token),
    );
    if (!isUndone)
      wrong.push(`I6: ${act.key}: ${state.status}, but the world was not undone after call ${act.attempt}`);
  }
  return wrong;
}

/** Whatever is booked as done was done. */
function checkDone({ record, done }: Book, calls: readonly Call[]): string[] {
  const waits = record.plan.filter(({ wait }) => wait).map(({ name }) => `${record.id}:${name}:act`);
  return [...done]
    .filter((key) => !waits.includes(key))
    .filter((key) => !calls.some((call) => call.key === key && call.ended === "ok"))
    .map((key) => `I2: ${key}: booked as done, but the world was never called to its end`);
}

/** An event is in the outbox once if its call is booked, and not at all otherwise. Only for tests that wrote it down. */
function checkEvents(
  books: ReadonlyMap<string, Book>,
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
    const book = books.get(sagaId);
    if (phase === "emitted" && book && (book.done.has(key) || book.refused.has(key)))
      expected.add(`${sagaId} ${type}`);
  }
  for (const name of expected)
    if (found.get(name) !== 1)
      wrong.push(`S-28: event ${name} is in the outbox ${found.get(name) ?? 0} times`);
  for (const name of found.keys())
    if (!expected.has(name)) wrong.push(`S-28: event ${name} is in the outbox, but its step is not booked`);
  return wrong;
}
