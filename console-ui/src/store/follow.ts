/**
 * What became of an action. A retry only lets a worker try again: the toast that announces it stays until the item has
 * ended or failed again, and then says which.
 */
import type { SagaDetail } from "../../../src/console/contract.ts";
import type {
  Unsubscribed,
  DeliveryDetail,
  FlowDetail,
  OutboxLine,
  Resent,
} from "../../../src/console/contract-parts.ts";
import { labelOf, pathOf, touches, type Target, type TargetKind } from "./actions.ts";
import { get } from "./api.ts";
import { formatTimes } from "./format.ts";
import { refreshOn } from "./resource.ts";
import { closeToast, showToast, updateToast } from "./toast.ts";

interface Outcome {
  readonly tone: "good" | "bad";
  readonly text: string;
}

/** After this a toast gives up: the item may wait for hours. */
const FOLLOWED_MS = 120_000;
const LOOK_MS = 1_500;

const good = (text: string): Outcome => ({ tone: "good", text });
const bad = (text: string): Outcome => ({ tone: "bad", text });

function sagaOutcome({ status, stalled }: SagaDetail): Outcome | undefined {
  if (status === "STALLED") return bad(`stalled again: ${stalled ?? "unknown reason"}`);
  if (status === "COMPLETED") return good("completed");
  return status === "FAILED" ? good("rolled back") : undefined;
}

function entryOutcome({ status, lastError }: OutboxLine): Outcome | undefined {
  if (status === "abandoned") return bad(`abandoned again: ${lastError ?? "unknown error"}`);
  if (status === "scheduled") return good("accepted, to be verified when the data expires");
  return status === "succeeded" || status === "superseded" ? good(status) : undefined;
}

function flowOutcome({ status, errorLabel }: FlowDetail): Outcome | undefined {
  if (status === "stalled") return bad(`stalled again: ${errorLabel ?? "unknown error"}`);
  if (status === "completed") return good("completed");
  return status === "failed" ? good("rolled back") : undefined;
}

function deliveryOutcome({ status, errorCode }: DeliveryDetail): Outcome | undefined {
  if (status === "DeadLettered") return bad(`failed again: ${errorCode ?? "unknown error"}`);
  return status === "Completed" ? good("delivered") : undefined;
}

const outcomes: Readonly<Partial<Record<TargetKind, (detail: never) => Outcome | undefined>>> = {
  saga: sagaOutcome,
  entry: entryOutcome,
  flow: flowOutcome,
  delivery: deliveryOutcome,
};

/** `answer` is what the server said to the action: the item as it is then, or the new delivery. */
export function announce(target: Target, started: string, answer: unknown): void {
  const { kind } = target;
  const label = labelOf(target);
  const id = idIn(answer) ?? target.id;
  const path = pathOf(kind, id);
  const href = `#/${path}`;
  const read = outcomes[kind] as ((detail: unknown) => Outcome | undefined) | undefined;
  const isOver = !read || kind === "subscription" || isSettled(kind, answer);
  const text = `${label}: ${started}${countsIn(answer)}`;
  const toast = showToast(isOver ? "good" : "busy", text, href);
  if (isOver) return;
  const stop = (): void => {
    quit();
    clearInterval(timer);
    clearTimeout(end);
  };
  const look = async (): Promise<void> => {
    const outcome = read(await get<unknown>(path));
    if (!outcome) return;
    stop();
    updateToast(toast, outcome.tone, `${label}: ${outcome.text}`, href);
  };
  const tryLook = (): void => void look().catch(() => undefined);
  const quit = refreshOn(touches[kind], tryLook, LOOK_MS);
  // A notice may be missed: it is looked at now and then in any case.
  const timer = setInterval(tryLook, 3 * LOOK_MS);
  const end = setTimeout(() => {
    stop();
    closeToast(toast);
  }, FOLLOWED_MS);
}

function idIn(answer: unknown): string | undefined {
  const id = (answer as { readonly id?: unknown } | undefined)?.id;
  return typeof id === "string" ? id : undefined;
}

/** A resend of many says how many, a delete how many dead letters went with it. */
function countsIn(answer: unknown): string {
  const { deliveries, dismissed } = (answer ?? {}) as Partial<Resent & Unsubscribed>;
  if (deliveries !== undefined) return `, ${formatTimes(deliveries, "delivery", "deliveries")}`;
  if (!dismissed) return "";
  return `, ${formatTimes(dismissed, "dead letter", "dead letters")} dismissed`;
}

/** A resolve or a dismiss ends the item itself: nothing is left to follow. */
function isSettled(kind: TargetKind, answer: unknown): boolean {
  const { status, deadLetter } = (answer ?? {}) as Partial<DeliveryDetail>;
  if (kind === "delivery") return deadLetter === "Dismissed";
  const ended: Readonly<Record<string, readonly string[]>> = {
    saga: ["COMPLETED", "FAILED"],
    entry: ["succeeded", "superseded"],
    flow: ["completed", "failed"],
  };
  return status !== undefined && ended[kind]?.includes(status) === true;
}
