/** Which sagas can be taken back, and the saga that does it. */
import { createHash } from "node:crypto";
import { AmendsError } from "../../core/errors.ts";
import { SAGA_ID_MAX } from "../../core/identity.ts";
import type { OperatorNote } from "../../core/operator-note.ts";
import { control } from "../../core/saga/entry.ts";
import type { NewReversal, Parent, SagaRecord } from "../journal/journal.ts";

/** Throws if the saga cannot be taken back. */
export function checkReversible({ id, plan, state, reverses }: SagaRecord): void {
  const refuse = (why: string): never => {
    throw new AmendsError("REVERSE_REFUSED", why, { id, status: state.status });
  };
  if (reverses !== undefined)
    refuse(
      `The saga takes back saga ${reverses}: it cannot be taken back itself. Start the other saga again.`,
    );
  if (state.status !== "COMPLETED")
    refuse(
      `Only a COMPLETED saga can be taken back; this one is ${state.status}. Cancel one that is under way.`,
    );
  if (plan.length === 0)
    refuse("The saga was written through the storage contract: it has no steps to undo.");
  const pivot = plan.find((step) => step.pivot);
  if (pivot)
    refuse(
      `The saga has passed its pivot ${pivot.name}, after which nothing is built to be undone: it cannot be taken back.`,
    );
}

/** The id of a reversal follows from that of the saga, unless another saga has that one. */
export function newReversal(id: string, note: OperatorNote, parent: Parent | undefined): NewReversal {
  const own = `${id}:reversal`;
  const digest = createHash("sha256").update(id).digest("hex");
  const ids = own.length <= SAGA_ID_MAX ? [own, `${digest}:reversal`] : [`${digest}:reversal`];
  return { id, ids, entry: control("$reverse", { ...note, step: undefined }), parent };
}
