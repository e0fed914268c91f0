/** What is recorded of the ticks of a schedule that a worker processes at once, and which sagas they start: a pure function. */
import { tickId } from "./calendar.ts";
import type { DueTicks, OverlapPolicy, TickOutcome } from "./due-ticks.ts";

/** One record: a tick, or several in a row with the same outcome. */
export interface TickRecord {
  /** Records of a schedule are numbered from 0. */
  readonly number: number;
  readonly at: number;
  readonly until: number;
  readonly outcome: TickOutcome;
  /** An operator asked for it. */
  readonly isRun: boolean;
  /** The saga that starts, or the open one because of which a tick is skipped. */
  readonly sagaId: string | undefined;
}

export interface RoundFacts {
  readonly name: string;
  readonly overlap: OverlapPolicy;
  readonly nowMs: number;
  /** The id of a saga that an operator asked for. */
  readonly runId: string | undefined;
  /** A saga of an earlier tick that is open. */
  readonly openSagaId: string | undefined;
  /** How many records there are. */
  readonly ticks: number;
  readonly last: TickRecord | undefined;
  readonly due: DueTicks | undefined;
}

export interface RoundOutcome {
  /** The ids of the sagas that start. */
  readonly sagaIds: readonly string[];
  /** New records, and possibly the last one anew. */
  readonly records: readonly TickRecord[];
  readonly ticks: number;
}

type Event = Pick<TickRecord, "at" | "until" | "isRun"> & { readonly sagaId: string | undefined };

export function roundOutcome(facts: RoundFacts): RoundOutcome {
  const records: TickRecord[] = [];
  const sagaIds: string[] = [];
  let { ticks, last, openSagaId: open } = facts;
  const record = (event: Event, outcome: TickOutcome, sagaId: string | undefined): void => {
    const { at, until, isRun } = event;
    if (last && !isRun && !last.isRun && isContinued(last, outcome, sagaId)) {
      if (records.at(-1) === last) records.pop();
      last = { ...last, until };
    } else last = { number: ticks++, at, until, outcome, isRun, sagaId };
    records.push(last);
  };
  for (const event of eventsOf(facts)) {
    const { sagaId } = event;
    if (sagaId === undefined) record(event, "missed", undefined);
    else if (facts.overlap === "skip" && open !== undefined) record(event, "skipped", open);
    else {
      sagaIds.push(sagaId);
      record(event, "started", sagaId);
      open = sagaId;
    }
  }
  return { sagaIds, records, ticks };
}

/** Ticks that were left out for the same reason, one after another, are one record. */
function isContinued(last: TickRecord, outcome: TickOutcome, sagaId: string | undefined): boolean {
  return outcome !== "started" && last.outcome === outcome && last.sagaId === sagaId;
}

/** What an operator asked for, then the ticks in their order. Missed ticks have no saga. */
function eventsOf({ name, nowMs, runId, due }: RoundFacts): readonly Event[] {
  const events = (due?.start ?? []).map((at): Event => ({
    at,
    until: at,
    isRun: false,
    sagaId: tickId(name, at),
  }));
  if (due?.missed) {
    const { fromMs: at, toMs: until } = due.missed;
    events.push({ at, until, isRun: false, sagaId: undefined });
  }
  const ordered = events.toSorted((a, b) => a.at - b.at);
  return runId === undefined
    ? ordered
    : [{ at: nowMs, until: nowMs, isRun: true, sagaId: runId }, ...ordered];
}
