/**
 * A start through the outbox of a database: it is written in the caller's transaction, and reaches Restate after the commit, at least
 * once. Restate knows the saga's id, so that the saga starts once.
 */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError, RetryLater, Terminal } from "../../core/errors.ts";
import type { Calls } from "../../outbox/calls/calls.ts";
import { defineCall, type CallDefinition } from "../../outbox/calls/definition.ts";
import type { EnqueueOptions, QueuedCall } from "../../outbox/calls/enqueue.ts";

/** A start, as the outbox keeps it. */
export interface StartMessage {
  /** The name of the saga. */
  readonly name: string;
  /** The id of the saga. */
  readonly id: string;
  /** The version of its definition. */
  readonly version: number;
  /** The input, as JSON. It was checked when the start was written. */
  readonly input: string;
}

const NAME = "restate-start";

/** The call that hands a start over. A start that conflicts with an earlier one is abandoned, and needs a person. */
export function startCall(
  send: (message: StartMessage, signal: AbortSignal) => Promise<boolean>,
): CallDefinition<StandardSchemaV1<StartMessage>> {
  return defineCall(NAME, {
    schema: MESSAGE,
    handle: async (message, { signal }) => {
      try {
        await send(message, signal);
      } catch (error) {
        if (!(error instanceof AmendsError)) throw error;
        // A service that is not registered yet may be soon.
        throw error.code === "SAGA_CONFLICT" ? new Terminal("SagaConflict") : new RetryLater("SagaNotServed");
      }
    },
  });
}

export function enqueueStart<Tx>(
  calls: Pick<Calls<Tx>, "enqueue">,
  call: CallDefinition<StandardSchemaV1<StartMessage>>,
  message: StartMessage,
  tx: Tx | undefined,
): Promise<QueuedCall> {
  const options: EnqueueOptions<Tx> = {
    id: `${message.name}:${message.id}`,
    ...(tx !== undefined && { tx }),
  };
  return calls.enqueue(call, message, options);
}

/** Only `start` writes such messages. */
const MESSAGE: StandardSchemaV1<StartMessage> = {
  "~standard": {
    version: 1,
    vendor: "amends",
    validate: (value) => ({ value: value as StartMessage }),
  },
};
