/**
 * The one table of what needs a person. A kind says where its rows come from and what each means to a person; the list,
 * the counts, the HTTP API, the console's lines, the command line's rows and the metrics follow from it. The statements
 * are in the rooms that own the tables.
 */
import { outboxMachine } from "../core/outbox/machine.ts";
import { overdueErasures, type OverdueErasure } from "../erasure/overdue.ts";
import { stalledRuns } from "../events/read/list.ts";
import type { ListedRun } from "../events/read/run.ts";
import { unservedHandlers, type EventSubscription } from "../events/subscriptions/operators.ts";
import type { ListedEntry } from "../outbox/read/entry.ts";
import { abandonedEntries } from "../outbox/read/list.ts";
import {
  excludedSagas,
  failingSagas,
  stalledSagas,
  type ExcludedSaga,
  type FailingSaga,
  type StalledSaga,
} from "../sagas/read/stalled.ts";
import { lostSagas, type LostSaga } from "../sagas/lost/lost.ts";
import { unservedKinds, type UnservedKind } from "../sagas/kinds/unserved.ts";
import { overdueSchedules, type OverdueSchedule } from "../schedules/read/figures.ts";
import type { Dialect } from "../storage/database.ts";
import type { Reader } from "../storage/read/reader.ts";
import {
  readOldest,
  type Placed,
  type Selection,
  type Source,
  type Start,
} from "../storage/read/selection.ts";
import { reportedRefusals, type ReportedRefusal } from "../storage/write/refused-writes.ts";
import { deliveryActions, disabledActions } from "../webhooks/helping-actions.ts";
import {
  disabledSubscriptions,
  openDeadLetters,
  type AddressedLetter,
  type DisabledSubscription,
} from "../webhooks/read/waiting.ts";
import type {
  AbandonedCallItem,
  AbandonedEntryItem,
  AbandonedEventItem,
  AttentionAction,
  AttentionFacts,
  AttentionItem,
  AttentionKind,
  DeadLetterItem,
  DisabledSubscriptionItem,
  ExcludedSagaItem,
  FailingSagaItem,
  LostSagaItem,
  OverdueErasureItem,
  OverdueScheduleItem,
  RefusedWriteItem,
  UnservedHandlerItem,
  UnservedKindItem,
  StalledRunItem,
  StalledSagaItem,
} from "./item.ts";
import { attemptsText, linesText, responseText, unservedHandlerText } from "./words.ts";

/** What a kind adds to the facts that every item has. */
type Details<Item extends AttentionItem> = Omit<Item, keyof AttentionFacts>;

interface KindSpec<Item extends AttentionItem, Record> {
  readonly kind: Item["kind"];
  /** Where its rows come from, each the oldest first. */
  readonly sources: readonly Source<Record>[];
  /** Counting it reads more than an index of just these rows, so it is counted rarely where many look. */
  readonly costly?: true;
  id(record: Record): string;
  name(record: Record): string;
  /** Two items of one kind must not look alike: it says whose, and where. */
  reason(record: Record): string;
  actions(record: Record): readonly AttentionAction[];
  details(record: Record): Details<Item>;
}

/** One source of items. `since` of an item is the instant by which its source is ordered. */
export interface ItemSource {
  readonly kind: AttentionKind;
  readonly costly: boolean;
  selection(dialect: Dialect): Selection;
  items(reader: Reader, limit: number, start: Start | undefined): Promise<readonly Placed<AttentionItem>[]>;
}

function kind<Item extends AttentionItem, Record>(spec: KindSpec<Item, Record>): readonly ItemSource[] {
  const toItem = (record: Record, sinceMs: number): AttentionItem => {
    const facts: AttentionFacts = {
      kind: spec.kind,
      id: spec.id(record),
      name: spec.name(record),
      since: new Date(sinceMs),
      reason: spec.reason(record),
      actions: spec.actions(record),
    };
    return { ...facts, ...spec.details(record) } as unknown as AttentionItem;
  };
  return spec.sources.map((source) => ({
    kind: spec.kind,
    costly: spec.costly === true,
    selection: (dialect) => source.rows(dialect),
    items: async (reader, limit, start) => {
      const found = await readOldest(reader, source, limit, start);
      return found.map(({ atMs, id, record }) => ({ atMs, id, record: toItem(record, atMs) }));
    },
  }));
}

/** The state machine decides the actions on an abandoned entry. */
const FROM_ABANDONED = (["requeue", "resolve"] as const).filter(
  (action) => outboxMachine.target("abandoned", action) !== undefined,
);

const UNKNOWN = "UnknownError";

export const SOURCES: readonly ItemSource[] = [
  ...kind<StalledSagaItem, StalledSaga>({
    kind: "stalled-saga",
    sources: [stalledSagas],
    id: ({ id }) => id,
    name: ({ name }) => name,
    reason: ({ reason }) => reason,
    actions: ({ actions }) => actions,
    details: ({ error, undoErrors, skippable }) => ({ error, undoErrors, skippable }),
  }),
  ...kind<FailingSagaItem, FailingSaga>({
    kind: "failing-saga",
    sources: [failingSagas],
    id: ({ id }) => id,
    name: ({ name }) => name,
    reason: ({ reason }) => reason,
    actions: ({ actions }) => actions,
    details: ({ step, attempts, error, skippable }) => ({ step, attempts, error, skippable }),
  }),
  ...kind<ExcludedSagaItem, ExcludedSaga>({
    kind: "excluded-saga",
    sources: [excludedSagas],
    id: ({ id }) => id,
    name: ({ name }) => name,
    reason: ({ status, attempts }) =>
      `it is ${status}, and no worker claims it: its recovery attempts were set to ${attempts}. setRecoveryAttempts(id, 0) puts it back`,
    actions: () => [],
    details: ({ attempts }) => ({ attempts }),
  }),
  ...kind<LostSagaItem, LostSaga>({
    kind: "lost-saga",
    sources: [lostSagas],
    id: ({ sagaId }) => sagaId,
    name: ({ name }) => name ?? "saga",
    reason: ({ lines, step }) =>
      `the database has lost the saga and kept ${linesText(lines)} of its log${step === undefined ? "" : `, up to step ${step}`}: it went back in time. Check the effects of its steps, then delete the lines (docs/guides/failover.md)`,
    actions: () => [],
    details: ({ lines, step }) => ({ lines, step }),
  }),
  ...kind<StalledRunItem, ListedRun>({
    kind: "stalled-run",
    sources: [stalledRuns],
    id: ({ id }) => id,
    name: ({ type }) => type,
    reason: ({
      state: {
        undoSteps: [step],
      },
    }) => (step === undefined ? "its undo failed" : `the undo of step ${step} failed`),
    actions: () => ["retry", "resolve"],
    details: ({ processId, state: { undoSteps, failure } }) => ({
      processId,
      step: undoSteps[0],
      error: failure,
    }),
  }),
  ...kind<AbandonedEntryItem, ListedEntry>({
    kind: "abandoned-entry",
    sources: [abandonedEntries("erasure")],
    id: ({ entryId }) => entryId,
    name: ({ name }) => name,
    reason: ({ subjectId, name, operation, lastError, attempts }) =>
      `for ${subjectId}: ${name} did not ${operation}: ${lastError ?? UNKNOWN}, ${attemptsText(attempts)}`,
    // The corrections of an abandoned rectification are cleared: it can be issued again, but not requeued.
    actions: ({ operation }) =>
      FROM_ABANDONED.filter((action) => operation === "erase" || action !== "requeue"),
    details: ({ subjectId = "", operation = "erase", attempts, lastError: error = UNKNOWN }) => ({
      subjectId,
      operation,
      attempts,
      error,
    }),
  }),
  ...kind<AbandonedCallItem, ListedEntry>({
    kind: "abandoned-call",
    sources: [abandonedEntries("call")],
    id: ({ entryId }) => entryId,
    name: ({ name }) => name,
    reason: ({ name, lastError }) => `the call ${name} was abandoned: ${lastError ?? UNKNOWN}`,
    actions: () => FROM_ABANDONED.filter((action) => action === "requeue"),
    details: ({ attempts, lastError: error = UNKNOWN }) => ({ attempts, error }),
  }),
  ...kind<AbandonedEventItem, ListedEntry>({
    kind: "abandoned-event",
    sources: [abandonedEntries("delivery"), abandonedEntries("event")],
    id: ({ entryId }) => entryId,
    name: ({ name }) => name,
    reason: ({ handler, lastError: error = UNKNOWN }) =>
      handler === undefined ? `it could not be read: ${error}` : `handler ${handler} gave it up: ${error}`,
    actions: () => ["retry", "resolve"],
    details: ({ handler, sagaId, attempts, lastError: error = UNKNOWN }) => ({
      handler,
      sagaId: handler === undefined ? undefined : sagaId,
      attempts,
      error,
    }),
  }),
  ...kind<DeadLetterItem, AddressedLetter>({
    kind: "dead-letter",
    sources: [openDeadLetters],
    id: ({ deliveryId }) => deliveryId,
    name: ({ eventType }) => eventType,
    reason: ({ eventId, subscription: { url }, errorCode, attemptCount }) =>
      `event ${eventId} to ${url || "the endpoint"}: ${responseText(errorCode)}, ${attemptsText(attemptCount)}`,
    actions: ({ subscription }) => deliveryActions(subscription, true),
    details: ({ subscription, eventId, attemptCount: attempts, errorCode: error }) => ({
      subscription,
      eventId,
      attempts,
      error,
    }),
  }),
  ...kind<DisabledSubscriptionItem, DisabledSubscription>({
    kind: "disabled-subscription",
    sources: [disabledSubscriptions],
    id: ({ id }) => id,
    name: ({ name }) => name,
    reason: ({ url, reason }) =>
      `${url}: ${reason === "failing" ? "no delivery has succeeded for a long time" : responseText(reason)}`,
    actions: disabledActions,
    details: ({ reason: error, ...subscription }) => ({ subscription, error }),
  }),
  ...kind<OverdueErasureItem, OverdueErasure>({
    kind: "overdue-erasure",
    sources: [overdueErasures()],
    costly: true,
    id: ({ subjectId }) => subjectId,
    name: () => "erasure",
    reason: ({ localFailed, blocking }) =>
      [
        ...(localFailed ? ["the erasure in the own tables failed"] : []),
        ...blocking.map(({ resolver, status }) => `${resolver} is ${status}`),
      ].join("; "),
    actions: () => [],
    details: ({ requestedAt, blocking }) => ({ requestedAt, blocking }),
  }),
  ...kind<UnservedKindItem, UnservedKind>({
    kind: "unserved-kind",
    sources: [unservedKinds],
    id: ({ kind: id }) => id,
    name: ({ name }) => name,
    reason: ({ reason }) => reason,
    actions: () => [],
    details: ({ version, sagas }) => ({ version, sagas }),
  }),
  ...kind<UnservedHandlerItem, EventSubscription>({
    kind: "unserved-handler",
    sources: [unservedHandlers],
    costly: true,
    id: ({ handler }) => handler,
    name: ({ handler }) => handler,
    reason: unservedHandlerText,
    actions: () => ["retire"],
    details: ({ event, backlog }) => ({ event, backlog }),
  }),
  ...kind<OverdueScheduleItem, OverdueSchedule>({
    kind: "overdue-schedule",
    sources: [overdueSchedules],
    id: ({ name }) => name,
    name: ({ name }) => name,
    reason: ({ saga, version, isServed }) =>
      isServed
        ? `its tick has not started saga ${saga} (version ${version}), although a worker has it. See the log of the workers`
        : `its tick cannot start: no running worker has saga ${saga} (version ${version}). Run a worker that has it, put the schedule with a version that workers have, or pause it`,
    actions: () => ["pause", "remove"],
    details: ({ saga, version, isServed: served }) => ({ saga, version, served }),
  }),
  ...kind<RefusedWriteItem, ReportedRefusal>({
    kind: "refused-write",
    sources: [reportedRefusals],
    id: ({ operation, code }) => `${operation}:${code}`,
    name: ({ operation }) => operation,
    reason: ({ said, state, waiting, advice }) =>
      `${said}${state === "" ? "" : ` (${state})`}; ${waiting === 1 ? "1 outcome waits" : `${waiting} outcomes wait`} to be recorded. ${advice}`,
    actions: () => [],
    details: ({ code, state, waiting }) => ({ code, state, waiting }),
  }),
];
