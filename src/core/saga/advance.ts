/** The lines of a checkpoint: what happened, and what begins with it. Their fold is the state that the next worker reads. */
import { started, type Entry, type Mark } from "./entry.ts";
import { evolve } from "./evolve.ts";
import { next, type ActCommand, type Command, type Facts, type GroupCommand } from "./interpreter.ts";
import { start, startNext, stateAt, type SagaState } from "./state.ts";
import type { EachField } from "./steps/state.ts";

/** A line, what must be written together with it, and the state after all of it. */
export interface Advance {
  /** Lines before it, in the same commit. */
  readonly before: readonly Entry[] | undefined;
  readonly entry: Entry;
  /** Lines that follow on it, in the same commit: they begin the other acts of a group. */
  readonly more: readonly Entry[] | undefined;
  readonly state: SagaState;
}

/**
 * A line and the state after it. With `go`, the call that follows begins in the same line, so that it needs no
 * line of its own: its STARTED is durable because this line is. `from` is the state after the lines before it.
 */
export function advance(
  from: SagaState,
  entry: Entry,
  facts: Facts,
  go: boolean,
  before?: readonly Entry[],
): Advance {
  const state = evolve(from, entry);
  const command = go ? next(state, facts) : undefined;
  if (command?.kind === "group") return beginTogether(state, entry, command, before);
  // What has begun already, such as an undo that the saga turned back over, is not begun again.
  const mark = command && needsStart(state, command) ? markOf(command) : undefined;
  return mark
    ? { before, entry: withNext(entry, mark), more: undefined, state: startNext(state, from, mark) }
    : { before, entry, more: undefined, state };
}

/**
 * Each line begins one act of the group, the last line the first of them; the other acts begin in lines of their own. Where the last
 * line completes a list, no line before it begins an item: the list is not there yet.
 */
function beginTogether(
  after: SagaState,
  last: Entry,
  { acts }: GroupCommand,
  before: readonly Entry[] | undefined,
): Advance {
  const marks = acts.filter((act) => needsStart(after, act)).map(actMark);
  const [mark, ...others] = marks;
  if (!mark) return { before, entry: last, more: undefined, state: after };
  const isListing = last.status === "STARTED";
  const earlier = before?.toReversed().map((line) => {
    const begins = line.next === undefined && !isListing ? others.shift() : undefined;
    return begins ? { ...line, next: begins } : line;
  });
  return {
    before: earlier?.toReversed(),
    entry: { ...last, next: mark },
    more: others.map(({ step }) => started(step)),
    state: marks.reduce((state, one) => start(state, one), after),
  };
}

/** Field by field: see `copied` in state.ts. */
function withNext({ step, action, status, details, atMs }: Entry, mark: Mark): Entry {
  const line: EachField<Entry> = { step, action, status, details, next: mark, atMs };
  return line;
}

function actMark({ step }: ActCommand): Mark {
  return { step, action: "act" };
}

function markOf(command: Exclude<Command, GroupCommand>): Mark | undefined {
  switch (command.kind) {
    case "act":
      return actMark(command);
    case "undo":
      return { step: command.step, action: "compensate" };
    case "wait":
      return { step: command.step, action: command.action };
    default:
      return undefined;
  }
}

/** Must this command's STARTED still be written before its call may be made, or before it counts as waiting? */
export function needsStart(state: SagaState, command: Exclude<Command, GroupCommand>): boolean {
  if (command.kind === "end" || command.kind === "turn") return false;
  if (command.kind === "wait") {
    const { act, undo } = stateAt(state, command.index, undefined);
    return (command.action === "act" ? act : undo) !== "waiting";
  }
  const { act, undo, round } = stateAt(state, command.index, command.item);
  if (command.kind === "undo") return undo !== "begun";
  return act !== "begun" || (command.round !== undefined && command.round !== round);
}
