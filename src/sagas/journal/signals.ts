/**
 * Sends signals to sagas. A signal is durable before a step receives it: it is kept for the step that waits for it, now or
 * later. A signal that is sent twice with the same id is one signal. In a caller's transaction it is sent if that commits.
 */
import { AmendsError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { givenTransaction, refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { eventArrivesAs, isEventName } from "../../core/saga/steps/wait.ts";
import type { Database, Dialect, Session } from "../../storage/database.ts";
import { atOnce, joinNow } from "../../storage/joins/at-once.ts";
import { perform, performNow, type Work } from "../../storage/joins/work.ts";
import { persist, type RetryLimits } from "../../storage/retry.ts";
import { COMMIT_SOON_MS } from "../../runtime/duty.ts";
import type { Engine } from "../engine/engine.ts";
import { throughSchema } from "../define/input.ts";
import { isSchema, type AnySignal } from "../define/signal.ts";
import {
  countSignal,
  insertSignal,
  lockSaga,
  selectInterested,
  selectSent,
  selectSignals,
  type NewSignal,
} from "./signal-queries.ts";

/** The options of `amends.signal`. */
export interface SignalOptions<Tx> {
  /** The id of the signal, for deduplication: the same signal with the same id is delivered once. Default: a new id. */
  readonly id?: string;
  /** Your own open transaction: the signal is sent if and only if it commits. */
  readonly tx?: Tx;
}

export interface SignalTools<Tx> {
  readonly db: Database<Tx>;
  readonly engine: Pick<Engine, "dueIn">;
  readonly retryLimits: RetryLimits;
  readonly newId: () => string;
}

/** True if the signal was sent now, false if it had been sent before. */
export async function sendSignal<Tx>(
  tools: SignalTools<Tx>,
  sagaId: string,
  type: AnySignal,
  payload: unknown,
  options: SignalOptions<Tx>,
): Promise<boolean> {
  const { db, engine, retryLimits } = tools;
  const text = await throughSchema(...schemaOf(type, payload, options));
  const signal = newSignal(tools, sagaId, type, text, options);
  const tx = givenTransaction(options, "amends.signal");
  if (tx !== undefined) {
    const session = db.join(tx);
    const isNew = await perform(session, deliver(session.dialect, signal));
    engine.dueIn(COMMIT_SOON_MS);
    return isNew;
  }
  db.refuseInside?.();
  const send = (session: Session): Promise<boolean> => perform(session, deliver(session.dialect, signal));
  const isNew = await persist(db, () => db.transaction(send), retryLimits);
  engine.dueIn(0);
  // A signal without an id of the caller's is new, even if a repeated statement says that it is there.
  return isNew || options.id === undefined;
}

/** The same in a synchronous transaction. */
export function sendSignalNow<Tx>(
  tools: SignalTools<Tx>,
  sagaId: string,
  type: AnySignal,
  payload: unknown,
  options: SignalOptions<Tx>,
): boolean {
  const { db, engine } = tools;
  const checked = schemaOf(type, payload, options);
  const signal = newSignal(tools, sagaId, type, atOnce(throughSchema(...checked), checked[2]), options);
  const session = joinNow(db, options.tx);
  const isNew = performNow(session, deliver(session.dialect, signal));
  engine.dueIn(COMMIT_SOON_MS);
  return isNew;
}

function schemaOf<Tx>(
  type: AnySignal,
  payload: unknown,
  options: SignalOptions<Tx>,
): Parameters<typeof throughSchema> {
  refuseUnknown(options, ["id", "tx"], "amends.signal");
  if (!isSchema((type as Partial<AnySignal> | undefined)?.schema))
    throw new AmendsError("BAD_OPTION", "Only signals can be sent, made by `signal(…)`.");
  return [type.schema, payload, `The payload of signal ${type.name}`, "(payload)"];
}

function newSignal<Tx>(
  { newId }: Pick<SignalTools<Tx>, "newId">,
  sagaId: string,
  { name }: AnySignal,
  payload: string,
  { id }: SignalOptions<Tx>,
): NewSignal {
  const dedupeId = id === undefined ? newId() : checkId(id, "The id of a signal");
  return { sagaId: checkId(sagaId, "The id of a saga"), name, dedupeId, payload, version: undefined };
}

function* deliver(dialect: Dialect, signal: NewSignal): Work<boolean> {
  const { sagaId, name, dedupeId } = signal;
  const [row] = yield lockSaga(dialect, sagaId);
  if (!row) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id: sagaId });
  const [sent] = yield selectSent(dialect, sagaId, name, dedupeId);
  if (sent) return false;
  const status = row["status"] as SagaStatus;
  if (sagaMachine.isTerminal(status)) {
    throw new AmendsError(
      "SAGA_ENDED",
      `The saga is ${status}: nothing waits for signal ${name} any more. Nothing was written.`,
      { id: sagaId, status },
    );
  }
  yield* record(dialect, signal, Number(row["signals"]) + 1);
  return true;
}

/** An event that sagas may wait for, as it is stored. */
export interface TellableEvent {
  readonly id: string;
  readonly type: string;
  readonly version: number;
  readonly payload: string | null;
}

/**
 * Gives an event to every saga that waits, or will wait, for one with such a value. Each saga gets it once, for the
 * first of its steps that has none yet; what no step is left for is not kept. Safe to repeat.
 */
export async function tellSagas<Tx>(
  { db, engine, retryLimits }: Omit<SignalTools<Tx>, "newId">,
  event: TellableEvent,
  values: readonly (readonly [field: string, value: string])[],
): Promise<void> {
  if (values.length === 0) return;
  const lookup = selectInterested(db.dialect, event.type, values);
  const steps = new Map<string, string[]>();
  for (const row of await persist(db, () => db.query(lookup), retryLimits)) {
    const id = row["saga_id"] as string;
    steps.set(id, [...(steps.get(id) ?? []), row["step_name"] as string]);
  }
  // One by one: no saga's trouble costs another, and no more than one row is ever locked.
  for (const [id, names] of steps) {
    const tell = (session: Session): Promise<void> =>
      perform(session, give(session.dialect, id, names, event));
    await persist(db, () => db.transaction(tell), retryLimits);
  }
  if (steps.size > 0) engine.dueIn(0);
}

function* give(
  dialect: Dialect,
  sagaId: string,
  steps: readonly string[],
  { id, version, payload }: TellableEvent,
): Work<void> {
  const [row] = yield lockSaga(dialect, sagaId);
  if (!row || sagaMachine.isTerminal(row["status"] as SagaStatus)) return;
  const sent = yield selectSignals(dialect, sagaId);
  // A signal may have the event's id, too: only an event is the event again.
  if (sent.some((one) => one["dedupe_id"] === id && isEventName(one["name"] as string))) return;
  const filled = new Set(sent.map((one) => one["name"]));
  const step = steps.find((name) => !filled.has(eventArrivesAs(name)));
  if (step === undefined) return;
  const signal = { sagaId, name: eventArrivesAs(step), dedupeId: id, payload, version };
  yield* record(dialect, signal, Number(row["signals"]) + 1);
}

/** Under the lock on the saga's row: gives the signal the next number, and makes the saga due if it waits for it. */
function* record(dialect: Dialect, signal: NewSignal, number: number): Work<void> {
  yield insertSignal(dialect, signal, number);
  yield countSignal(dialect, signal, number);
  const notice = dialect.notify();
  if (notice) yield notice;
}
