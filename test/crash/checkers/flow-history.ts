/**
 * The history of a run of an event saga, read from its events in the order in which they were sent: which steps
 * completed, whether the run compensates, and what was undone. Events that do not follow the definition are violations.
 */
import type { AnyHandler, FlowStatus, SagaDef } from "amends/events";

export interface FlowHistory {
  readonly wrong: readonly string[];
  /** The statuses that a run with these events may have. */
  readonly statuses: readonly FlowStatus[];
  /** The steps whose success events were sent. */
  readonly completed: readonly string[];
  /** The step that failed. */
  readonly failing: string | undefined;
  /** A compensation of the failed step was sent. */
  readonly isFailingUndone: boolean;
  /** The failed step returned err: it has no effects to undo. */
  readonly isRefused: boolean;
}

/** `notes` are the operators' actions in their order: `retry` or `resolve`. */
export async function readFlowHistory(
  saga: SagaDef,
  handlers: readonly AnyHandler[],
  events: readonly string[],
  notes: readonly string[],
): Promise<FlowHistory> {
  const reader = new HistoryReader(events);
  const completed: string[] = [];
  let isRefused = false;
  let isFailingUndone = false;
  const end = (failing: string | undefined, ...statuses: FlowStatus[]): FlowHistory => ({
    wrong: reader.rest(),
    statuses,
    completed,
    failing,
    isFailingUndone,
    isRefused,
  });
  if (!reader.accept(saga.trigger.type)) return end(undefined);
  for (const { name, handler } of saga.steps) if (reader.accept(handler.ok.type)) completed.push(name);
  const failing = saga.steps[completed.length];
  if (!failing) {
    const { type } = await saga.onCompleted("x");
    return reader.accept(type) ? end(undefined, "completed") : end(undefined);
  }
  isRefused = reader.accept(failing.handler.err.type);
  // Before the first compensation, the events do not tell whether the run waits for a late handler or compensates.
  if (reader.isAtEnd) return isRefused ? end(failing.name) : end(failing.name, "running", "compensating");
  const undone = saga.steps.slice(0, completed.length).toReversed();
  // A failed step that may have effects is undone too, before the others.
  isFailingUndone = !isRefused && reader.next === failing.compensation?.type;
  if (isFailingUndone) undone.unshift(failing);
  const actions = [...notes];
  for (const { compensation } of undone) {
    const undoer = handlers.find(({ on }) => on.type === compensation?.type);
    if (!compensation || !reader.accept(compensation.type)) return end(failing.name);
    while (undoer && !reader.accept(undoer.ok.type)) {
      const isAnswered = reader.accept(undoer.err.type);
      if (reader.isAtEnd && actions.length === 0)
        return end(failing.name, "stalled", ...(isAnswered ? [] : (["compensating"] as const)));
      const action = actions.shift();
      if (action === "resolve") break;
      if (action !== "retry" || !reader.accept(compensation.type)) return end(failing.name);
    }
  }
  return reader.accept((await saga.onFailed("x", { step: "", error: "" })).type)
    ? end(failing.name, "failed")
    : end(failing.name);
}

class HistoryReader {
  readonly #events: readonly string[];
  #at = 0;

  constructor(events: readonly string[]) {
    this.#events = events;
  }

  get next(): string | undefined {
    return this.#events[this.#at];
  }

  get isAtEnd(): boolean {
    return this.#at === this.#events.length;
  }

  accept(event: string): boolean {
    if (this.next !== event) return false;
    this.#at++;
    return true;
  }

  rest(): string[] {
    const rest = this.#events.slice(this.#at);
    return rest.length === 0
      ? []
      : [`after ${this.#events.slice(0, this.#at).join(", ")} came ${rest.join(", ")}`];
  }
}
