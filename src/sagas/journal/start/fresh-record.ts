/** The record of a saga that this process has just created and runs, without reading it back. */
import { openingLines } from "../../../core/saga/steps/group.ts";
import { evolve } from "../../../core/saga/evolve.ts";
import { initial } from "../../../core/saga/state.ts";
import type { NewSaga, SagaRecord } from "../journal.ts";

export function freshRecord(saga: NewSaga, epoch: number): Omit<SagaRecord, "entries"> {
  const opening = openingLines(saga.plan);
  const state = initial(saga.plan, true);
  return {
    id: saga.id,
    name: saga.name,
    definition: saga.definition,
    parent: saga.parent,
    input: JSON.parse(saga.input),
    plan: saga.plan,
    begun: true,
    version: 1 + opening.length,
    token: saga.token,
    owner: saga.owner,
    recoveryAttempts: 0,
    priority: saga.priority,
    attributes: saga.attributes,
    epoch,
    nowMs: 0,
    createdAtMs: 0,
    updatedAtMs: 0,
    deadlineAtMs: saga.deadlineMs,
    runAtMs: undefined,
    dueAtMs: undefined,
    state: opening.length === 0 ? state : opening.reduce(evolve, state),
  };
}
