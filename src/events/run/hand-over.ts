/**
 * Results of handlers whose saga this process does not know (F-19). The process that ran the handler records its result in the
 * delivery, which goes to the lane of the saga; a process that has the saga claims it there, and decides what the result
 * brings about (F-05, F-06). Until then the delivery stays open, so that deadlines and undos see a step that is not over.
 */
import { labelWithMessage } from "../../core/errors.ts";
import { sealOf, type Sealed } from "../../core/flow/sealed.ts";
import { sagaRecipient } from "../../core/flow/subscription.ts";
import { settled } from "../../core/outbox/machine.ts";
import { err, ok } from "../../core/result.ts";
import { valueOf, type EventValue } from "../define/event.ts";
import { givesOf } from "../define/several.ts";
import { isHandler, readResult, type Subscriber } from "../define/subscriber.ts";
import type { SagaRegistry } from "../define/registry.ts";
import type { Role } from "./decider.ts";
import type { Delivery, Fanout, Outcome, RunRecord } from "./outcome.ts";
import type { FinalResult } from "./result.ts";

/** The place of a delivery is this and the name of the saga, if its handler is registered as a step. */
const STEP = "step:";

/** The saga whose step this delivery is for, if this process does not know it. */
export function foreignStep(
  { mapping }: SagaRegistry,
  { handler = "", place }: Pick<Delivery, "handler" | "place">,
): string | undefined {
  return place?.startsWith(STEP) && !mapping.has(handler) ? place.slice(STEP.length) : undefined;
}

/** The saga that decides about this delivery, if this process does not know it. */
export function foreignSaga(
  registry: SagaRegistry,
  delivery: Delivery,
  run: RunRecord | undefined,
): string | undefined {
  const step = foreignStep(registry, delivery);
  if (step !== undefined) return step;
  const { handler = "", place } = delivery;
  if (place === undefined || registry.mapping.has(handler)) return undefined;
  // A command that no run has sent is an event like any other.
  return run && !registry.saga(run.sagaType) ? run.sagaType : undefined;
}

/** The result as it is stored. */
interface Answer {
  readonly kind: FinalResult["kind"];
  readonly event?: Pick<Sealed, "type" | "version" | "id" | "hasGivenId" | "payload">;
  readonly error?: string;
  readonly message?: string | undefined;
  readonly unbegun?: boolean;
}

/** Records the result, and publishes what the handler sends besides. */
export function handedOver(delivery: Delivery, saga: string, result: FinalResult, extras: Fanout): Outcome {
  return {
    delivery,
    to: settled("park"),
    uncounted: true,
    error: result.kind === "exhausted" ? labelWithMessage(result.error, result.message) : undefined,
    lane: `${sagaRecipient(saga)}@${delivery.version}`,
    answer: JSON.stringify(answerOf(result)),
    out: extras,
  };
}

function answerOf(result: FinalResult): Answer {
  if (result.kind === "exhausted") return result;
  const seal = result.event && sealOf(result.event);
  if (!seal) return { kind: result.kind };
  const { type, version, id, hasGivenId, payload } = seal;
  return { kind: result.kind, event: { type, version, id, hasGivenId, payload } };
}

/** The recorded result. Throws if it cannot be read here; one that breaks the saga's contract is a failed step. */
export function readAnswered(
  handler: Subscriber,
  delivery: Delivery,
  role: Role,
  run: RunRecord | undefined,
): FinalResult {
  const answer = JSON.parse(delivery.answer ?? "{}") as Answer;
  const { kind, error = "UnknownError", message, unbegun = false } = answer;
  if (kind === "exhausted") return { kind, error, message, unbegun };
  const event = answer.event && eventOf(handler, delivery, answer.event);
  if (event === undefined) return { kind, event, extras: [] };
  const check = role.kind === "act" ? role.step : undefined;
  const checked = readResult(handler, kind === "ok" ? ok(event) : err(event), check);
  if (role.kind === "act" && run && checked.event) role.saga.checkProcess(checked.event, run.processId);
  return { kind, event: checked.event, extras: [] };
}

function eventOf(
  handler: Subscriber,
  { correlation, eventId }: Delivery,
  stored: NonNullable<Answer["event"]>,
): EventValue {
  const answers = isHandler(handler) ? [...givesOf(handler), handler.err] : [];
  const promised = answers.find(({ type }) => type === stored.type);
  if (!promised) throw new TypeError(`amends: the handler does not promise ${stored.type}`);
  const fields = promised.read(stored.payload, stored.version) as object;
  return valueOf(fields, { ...stored, correlation: undefined }, undefined, correlation ?? eventId, eventId);
}
