/**
 * What the events of one run tell, read in the order in which they were sent: how far it came, whether it turned back,
 * what was undone. A story that does not follow the saga's definition is wrong, and said so.
 */
import type { AnyHandler, FlowStatus, SagaDef } from "amends/events";

export interface Story {
  readonly wrong: readonly string[];
  /** The states that a run with these events may be in. */
  readonly statuses: readonly FlowStatus[];
  /** The steps whose success events were sent. */
  readonly completed: readonly string[];
  /** The step at which it turned back, and whether a command went out for it. */
  readonly failing: string | undefined;
  readonly isFailingUndone: boolean;
  /** It turned back because that step answered with err: there is nothing of it to undo. */
  readonly isRefused: boolean;
}

/** `notes` are what people did: `retry` or `resolve`, in their order. */
export async function readStory(
  saga: SagaDef,
  handlers: readonly AnyHandler[],
  events: readonly string[],
  notes: readonly string[],
): Promise<Story> {
  const reader = new Reader(events);
  const completed: string[] = [];
  let isRefused = false;
  let isFailingUndone = false;
  const end = (failing: string | undefined, ...statuses: FlowStatus[]): Story => ({
    wrong: reader.rest(),
    statuses,
    completed,
    failing,
    isFailingUndone,
    isRefused,
  });
  if (!reader.take(saga.trigger.type)) return end(undefined);
  for (const { name, handler } of saga.steps) if (reader.take(handler.ok.type)) completed.push(name);
  const failing = saga.steps[completed.length];
  if (!failing) {
    const { type } = await saga.onCompleted("x");
    return reader.take(type) ? end(undefined, "completed") : end(undefined);
  }
  isRefused = reader.take(failing.handler.err.type);
  // Before the first command nothing tells whether it only waits for a handler that is late.
  if (reader.isAtEnd) return isRefused ? end(failing.name) : end(failing.name, "running", "compensating");
  const undone = saga.steps.slice(0, completed.length).toReversed();
  // A step that may have left something behind is undone as well, first.
  isFailingUndone = !isRefused && reader.next === failing.compensation?.type;
  if (isFailingUndone) undone.unshift(failing);
  const deeds = [...notes];
  for (const { compensation } of undone) {
    const undoer = handlers.find(({ on }) => on.type === compensation?.type);
    if (!compensation || !reader.take(compensation.type)) return end(failing.name);
    while (undoer && !reader.take(undoer.ok.type)) {
      const isAnswered = reader.take(undoer.err.type);
      if (reader.isAtEnd && deeds.length === 0)
        return end(failing.name, "stalled", ...(isAnswered ? [] : (["compensating"] as const)));
      const deed = deeds.shift();
      if (deed === "resolve") break;
      if (deed !== "retry" || !reader.take(compensation.type)) return end(failing.name);
    }
  }
  return reader.take((await saga.onFailed("x", { step: "", error: "" })).type)
    ? end(failing.name, "failed")
    : end(failing.name);
}

class Reader {
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

  take(event: string): boolean {
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
