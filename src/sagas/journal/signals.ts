/**
 * Sends signals to sagas. A signal is durable before a step receives it: it is kept for the step that waits for it, now or
 * later. A signal that is sent twice with the same id is one signal. In a caller's transaction it is sent if that commits.
 */
import { AmendsError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { refuseUnknown } from "../../core/options.ts";
import { sagaMachine, type SagaStatus } from "../../core/saga/machine.ts";
import { eventArrivesAs, isEventName } from "../../core/saga/wait.ts";
import type { Database, Session } from "../../storage/database.ts";
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
  { db, engine, retryLimits, newId }: SignalTools<Tx>,
  sagaId: string,
  type: AnySignal,
  payload: unknown,
  options: SignalOptions<Tx>,
): Promise<boolean> {
  refuseUnknown(options, ["id", "tx"], "amends.signal");
  if (!isSchema((type as Partial<AnySignal> | undefined)?.schema))
    throw new AmendsError("BAD_OPTION", "Only signals can be sent, made by `signal(…)`.");
  const { name } = type;
  const signal: NewSignal = {
    sagaId: checkId(sagaId, "The id of a saga"),
    name,
    dedupeId: options.id === undefined ? newId() : checkId(options.id, "The id of a signal"),
    payload: await throughSchema(type.schema, payload, `The payload of signal ${name}`, "(payload)"),
    version: undefined,
  };
  if (options.tx !== undefined) {
    const isNew = await deliver(db.join(options.tx), signal);
    engine.dueIn(COMMIT_SOON_MS);
    return isNew;
  }
  db.refuseInside?.();
  const isNew = await persist(db, () => db.transaction((session) => deliver(session, signal)), retryLimits);
  engine.dueIn(0);
  // A signal without an id of the caller's is new, even if a repeated statement says that it is there.
  return isNew || options.id === undefined;
}

async function deliver(session: Session, signal: NewSignal): Promise<boolean> {
  const { dialect } = session;
  const { sagaId, name, dedupeId } = signal;
  const [row] = await session.query(lockSaga(dialect, sagaId));
  if (!row) throw new AmendsError("SAGA_NOT_FOUND", "There is no saga with this id.", { id: sagaId });
  const [sent] = await session.query(selectSent(dialect, sagaId, name, dedupeId));
  if (sent) return false;
  const status = row["status"] as SagaStatus;
  if (sagaMachine.isTerminal(status)) {
    throw new AmendsError(
      "SAGA_ENDED",
      `The saga is ${status}: nothing waits for signal ${name} any more. Nothing was written.`,
      { id: sagaId, status },
    );
  }
  await record(session, signal, Number(row["signals"]) + 1);
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
    await persist(db, () => db.transaction((session) => give(session, id, names, event)), retryLimits);
  }
  if (steps.size > 0) engine.dueIn(0);
}

async function give(
  session: Session,
  sagaId: string,
  steps: readonly string[],
  { id, version, payload }: TellableEvent,
): Promise<void> {
  const { dialect } = session;
  const [row] = await session.query(lockSaga(dialect, sagaId));
  if (!row || sagaMachine.isTerminal(row["status"] as SagaStatus)) return;
  const sent = await session.query(selectSignals(dialect, sagaId));
  // A signal may have the event's id, too: only an event is the event again.
  if (sent.some((one) => one["dedupe_id"] === id && isEventName(one["name"] as string))) return;
  const filled = new Set(sent.map((one) => one["name"]));
  const step = steps.find((name) => !filled.has(eventArrivesAs(name)));
  if (step === undefined) return;
  const signal = { sagaId, name: eventArrivesAs(step), dedupeId: id, payload, version };
  await record(session, signal, Number(row["signals"]) + 1);
}

/** Under the lock on the saga's row: gives the signal the next number, and makes the saga due if it waits for it. */
async function record(session: Session, signal: NewSignal, number: number): Promise<void> {
  const { dialect } = session;
  await session.query(insertSignal(dialect, signal, number));
  await session.query(countSignal(dialect, signal, number));
  const notice = dialect.notify();
  if (notice) await session.query(notice);
}
