/**
 * Writes a call into the outbox, under the caller's own id if there is one. One unique index decides which of two
 * callers with the same id was first; the other one gets the same call, or a conflict if its input differs.
 */
import { createHash } from "node:crypto";
import type { Duration } from "../../core/duration.ts";
import { AmendsError } from "../../core/errors.ts";
import { checkId } from "../../core/identity.ts";
import { canonicalJson } from "../../core/json.ts";
import { refuseUnknown } from "../../core/options.ts";
import { readGate } from "../../core/start/gate.ts";
import type { Dialect } from "../../storage/database.ts";
import type { Work } from "../../storage/joins/work.ts";
import type { EncodedCall } from "./definition.ts";
import { FOUND_CALL, insertCall, selectCallByKey, type NewCall } from "./queries.ts";

/** The options of `enqueue`. */
export interface EnqueueOptions<Tx = unknown> {
  /**
   * Your own open transaction: the call is made if and only if it commits. Without one, the call is durable when
   * `enqueue` resolves.
   */
  readonly tx?: Tx;
  /**
   * An id for deduplication: the same id with the same call and input is enqueued once. Another input under the same id
   * throws `CALL_CONFLICT`. Ids of different calls are independent.
   */
  readonly id?: string;
  /** The earliest instant at which the call is made. */
  readonly runAt?: Date;
  /** The earliest time after now at which the call is made, such as `"10m"`. */
  readonly delay?: Duration;
}

/** A call that was enqueued, or found. */
export interface QueuedCall {
  /** The id of its entry: its idempotency key, and what `calls.requeue` takes. */
  readonly entryId: string;
  /** False if a call with the same id existed. */
  readonly created: boolean;
}

const FINGERPRINT_LENGTH = 16;

/** Validates a call before anything is written. */
export function readCall(
  { name, payload, limits }: EncodedCall,
  options: EnqueueOptions<never>,
  newId: () => string,
  traceparent: string | undefined,
): NewCall {
  refuseUnknown(options, ["tx", "id", "runAt", "delay"], "calls.enqueue");
  const { id } = options;
  const key = id === undefined ? undefined : checkId(id, "The id of a call");
  return {
    entryId: newId(),
    name,
    payload,
    limits,
    gate: readGate(options, "calls.enqueue"),
    dedupe: key === undefined ? undefined : { key, fingerprint: fingerprint(name, key, payload) },
    traceparent,
  };
}

/**
 * A hash of the input: the input is cleared when the call is done, but a second enqueue must still be compared with
 * it.
 */
function fingerprint(name: string, key: string, payload: string): string {
  const text = JSON.stringify([name, key, canonicalJson(JSON.parse(payload))]);
  return createHash("sha256").update(text).digest("hex").slice(0, FINGERPRINT_LENGTH);
}

export function* writeCall(dialect: Dialect, call: NewCall): Work<QueuedCall> {
  const { entryId, name, dedupe } = call;
  const [written] = yield insertCall(dialect, call);
  if (written) {
    const notice = dialect.notify();
    if (notice) yield notice;
    return { entryId, created: true };
  }
  // Without a caller's id the row is our own: an earlier commit, whose answer was lost, wrote it.
  if (!dedupe) return { entryId, created: true };
  const [row] = yield selectCallByKey(dialect, name, dedupe.key);
  if (!row) throw removed(name, dedupe.key);
  const found = FOUND_CALL.read(row);
  if (found.fingerprint !== dedupe.fingerprint) throw conflict(name, dedupe.key);
  return { entryId: found.entryId, created: found.entryId === entryId };
}

function conflict(call: string, id: string): AmendsError {
  return new AmendsError(
    "CALL_CONFLICT",
    `Call ${call} was enqueued under this id with another input. Use another id, or the same input.`,
    { call, id },
  );
}

function removed(call: string, id: string): AmendsError {
  return new AmendsError(
    "CALL_CONFLICT",
    `Call ${call} under this id was removed by retention during this call. Enqueue it again.`,
    { call, id },
  );
}
