/** What can be paused: one saga, the sagas of a name, or the calls of a name. */
import { AmendsError } from "../../core/errors.ts";
import { checkId, isName } from "../../core/identity.ts";
import type { CallDefinition } from "../../outbox/calls/definition.ts";
import { nameOf, type SagaKind } from "../../sagas/view/list.ts";
import type { PausedQueue } from "../../storage/pauses/queries.ts";

/**
 * What is paused or resumed: the saga with an id, every saga of a definition, a reference or a name, or every call of a definition or
 * a name.
 */
export type PauseTarget =
  | { readonly id: string }
  | { readonly saga: SagaKind }
  | { readonly call: string | Pick<CallDefinition, "name"> };

/** A target as it was checked. */
export type CheckedTarget =
  | { readonly kind: "id"; readonly id: string }
  | { readonly kind: "saga" | "call"; readonly queue: PausedQueue; readonly name: string };

const FORMS = ["id", "saga", "call"] as const;

export function checkTarget(target: PauseTarget, where: string): CheckedTarget {
  const given: Partial<Record<(typeof FORMS)[number], unknown>> =
    typeof target === "object" && target !== null ? target : {};
  const fields = Object.keys(given);
  const [form] = FORMS.filter((one) => given[one] !== undefined);
  if (fields.length !== 1 || form === undefined || !fields.includes(form))
    throw new AmendsError(
      "BAD_OPTION",
      `${where} takes one of { id }, { saga } and { call }: a saga, the sagas of a name, or the calls of a name.`,
    );
  if (form === "id") return { kind: form, id: checkId(given.id, "The id of a saga") };
  if (form === "saga") return { kind: form, queue: "sagas", name: nameOf(given.saga as SagaKind, where) };
  return { kind: form, queue: "calls", name: nameOfCall(given.call, where) };
}

function nameOfCall(call: unknown, where: string): string {
  const name: unknown = typeof call === "object" && call !== null ? (call as { name?: unknown }).name : call;
  if (isName(name)) return name;
  throw new AmendsError("BAD_OPTION", `${where}: \`call\` must be a definition or a name.`, {
    field: "call",
  });
}
