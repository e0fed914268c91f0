/**
 * `amends.events`: publish events, read the runs of sagas over events, and retry or resolve what needs an operator.
 */
import { AmendsError } from "../core/errors.ts";
import type { FlowEvent } from "../core/flow/decide.ts";
import { isUuid, sealOf } from "../core/flow/sealed.ts";
import { settled } from "../core/outbox/machine.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import { givenTransaction, refuseUnknown } from "../core/options.ts";
import { readTrail } from "../outbox/read/list.ts";
import { readNowMs } from "../storage/database-time.ts";
import { joinNow } from "../storage/joins/at-once.ts";
import type { Reader } from "../storage/read/reader.ts";
import type { Database, Row } from "../storage/database.ts";
import { COMMIT_SOON_MS } from "../runtime/duty.ts";
import type { Fanout, RunRecord } from "./run/outcome.ts";
import type { EventDefinition } from "./define/registry.ts";
import type { EventEngine } from "./run/engine.ts";
import { makeEngine, type EventsOptions, type SagaPort } from "./set-up.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Duty } from "../runtime/duty.ts";
import type { PartContext, PublishOptions } from "../runtime/part.ts";
import type { Consumer } from "./define/consumer.ts";
import type { EventValue } from "./define/event.ts";
import { fanOut } from "./run/fanout.ts";
import {
  findNoted,
  requeueDelivery,
  selectDelivery,
  supersedeDelivery,
} from "../outbox/deliveries/operator-queries.ts";
import { DELIVERY_STATE } from "../outbox/deliveries/row.ts";
import { findNotedRun, selectRuns, selectRunsOf } from "./store/run-queries.ts";
import { STORED_RUN, toRun, trailOf } from "./store/run-row.ts";
import { toDelivery } from "./store/store.ts";
import { FlowRun } from "./run-handle.ts";
import type { AnySagaDef } from "./define/saga-def.ts";
import {
  listHandlers,
  retireHandler,
  type EventSubscription,
  type RetiredHandler,
} from "./subscriptions/operators.ts";
import { flowView, type FlowStepView, type FlowView } from "./view.ts";

/** The number of rows per statement. */
const ROWS_MAX = 5_000;

/** Typed event flow: `amends.events`. */
export class EventFlow<Tx = unknown> {
  readonly #engine: EventEngine;
  readonly #reaper: Duty;
  readonly #db: Database<Tx>;
  readonly #reader: Reader;

  constructor(
    context: PartContext<Tx>,
    given: readonly EventDefinition[] | EventsOptions<Tx>,
    sagas: SagaPort,
    consumers: readonly Consumer[] = [],
  ) {
    const { engine, reaper } = makeEngine(context, given, sagas, consumers);
    this.#engine = engine;
    this.#reaper = reaper;
    this.#db = context.database;
    this.#reader = {
      dialect: context.database.dialect,
      query: (statement) => engine.store.query(statement),
    };
  }

  /** @internal */
  get duties(): readonly Duty[] {
    return this.#engine.registry.isEmpty ? [] : [this.#engine.pool, this.#reaper];
  }

  /** @internal Routes events to the sagas of steps of this definition that wait for them. */
  addSaga(saga: AnySaga): void {
    this.#engine.registry.addWaits(saga);
  }

  /** The number of deliveries that this process lost to another one. This process settled none of them. */
  get lost(): number {
    return this.#engine.pool.lost;
  }

  /**
   * Publishes one event or several. With `tx`, they exist if and only if the transaction commits; without, they are
   * durable when this resolves. Returns the runs of event sagas that they begin.
   */
  async publish(
    events: EventValue | readonly EventValue[],
    options: PublishOptions<Tx> = {},
  ): Promise<readonly FlowRun[]> {
    const out = this.#fanOut(events, options);
    const tx = givenTransaction(options, "events.publish");
    if (tx === undefined) {
      this.#db.refuseInside?.();
      await this.#engine.publish(out);
      return this.#handles(out);
    }
    const session = this.#db.join(tx);
    for (const part of parts(out)) await this.#engine.store.publishIn(session, part, tx);
    this.#engine.pool.dueIn(COMMIT_SOON_MS);
    return this.#handles(out);
  }

  /** @internal `publish` in a synchronous transaction. */
  publishNow(events: EventValue | readonly EventValue[], options: PublishOptions<Tx>): readonly FlowRun[] {
    const out = this.#fanOut(events, options);
    const session = joinNow(this.#db, options.tx);
    for (const part of parts(out)) this.#engine.store.publishNow(session, part);
    this.#engine.pool.dueIn(COMMIT_SOON_MS);
    return this.#handles(out);
  }

  /** What is written for these events. */
  #fanOut(events: EventValue | readonly EventValue[], options: PublishOptions<Tx>): Fanout {
    refuseUnknown(options, ["tx"], "events.publish");
    const list = (Array.isArray(events) ? events : [events]) as readonly EventValue[];
    for (const event of list) {
      if (!sealOf(event))
        throw new AmendsError("BAD_INPUT", "Only events can be published, made by `event(…)`.");
    }
    const trace = this.#engine.tracer.current();
    return fanOut(this.#engine.registry, list, { correlation: undefined, causation: undefined, trace });
  }

  #handles({ runs }: Fanout): readonly FlowRun[] {
    const { listeners, store } = this.#engine;
    const look = async (id: string) => (await store.runs([id])).get(id)?.state.status;
    const tools = { listeners, clock: this.#db.clock, look };
    return runs.map((run) => new FlowRun(tools, run));
  }

  /** Reads a run by its id. */
  async inspect(id: string): Promise<FlowView | undefined> {
    const [row] = await this.#engine.store.query(selectRuns(this.#db.dialect, [id]));
    return row && this.#view(row);
  }

  /** Lists the runs of one process, the newest first. */
  async runs(saga: AnySagaDef | string, processId: unknown): Promise<readonly FlowView[]> {
    const name = typeof saga === "string" ? saga : saga.name;
    const key = typeof saga === "string" ? String(processId) : saga.serializeId(processId);
    const rows = await this.#engine.store.query(selectRunsOf(this.#db.dialect, name, key));
    return Promise.all(rows.map((row) => this.#view(row)));
  }

  /** The steps of a saga; undefined if this process does not know it. */
  steps(saga: string): readonly FlowStepView[] | undefined {
    const { registry } = this.#engine;
    const known = registry.saga(saga);
    if (!known) return undefined;
    const plan = registry.plan(known);
    return known.steps.map(({ name, handler, compensation }, index) => ({
      name,
      handler: handler.name,
      command: compensation?.type,
      undo: plan.steps[index]?.undo ?? "none",
      takes: plan.steps[index]?.takes ?? [],
      gives: plan.steps[index]?.gives ?? [],
    }));
  }

  /** Retries the undo of a stalled run, or the handler of an abandoned event. */
  async retry(id: string, note: OperatorNote): Promise<void> {
    const run = await this.#stalled(id);
    if (run) return this.#steer(run, { kind: "retry" }, "retry", note);
    const text = await this.#noted("retry", note);
    const rows = isUuid(id)
      ? await this.#engine.store.query(requeueDelivery(this.#db.dialect, id, text))
      : [];
    if (rows.length === 0 && !(isUuid(id) && (await this.#isNoted("delivery", id, text)))) throw notNow(id);
    this.#engine.pool.dueIn(0);
  }

  /** Lists the handlers that workers have registered, of every process, by their names. */
  async handlers(): Promise<readonly EventSubscription[]> {
    return listHandlers(this.#reader);
  }

  /**
   * Ends the subscription of a handler or consumer that no process has any more, by its name: it gets no further events, and
   * what waits for it is superseded. A worker that has the handler registers it anew. Throws `NOT_ALLOWED_NOW` while a
   * running worker has it, while a run waits for it, and if no handler of this name is registered.
   */
  async retire(handler: string, note: OperatorNote): Promise<RetiredHandler> {
    return retireHandler(this.#reader, handler, await this.#noted("retire", note));
  }

  /**
   * Resolves a stalled run or an abandoned event by hand. A stalled run goes on with the steps that are left to undo.
   * An abandoned event is settled; if a run waits for it, its step counts as failed.
   */
  async resolve(id: string, note: OperatorNote): Promise<void> {
    const run = await this.#stalled(id);
    if (run) return this.#steer(run, { kind: "resolve" }, "resolve", note);
    const { store, decider } = this.#engine;
    const text = await this.#noted("resolve", note);
    const [row] = isUuid(id) ? await store.query(selectDelivery(this.#db.dialect, id)) : [];
    const found = row && DELIVERY_STATE.read(row);
    if (found?.status !== settled("abandon")) throw notNow(id);
    const delivery = toDelivery(found);
    const waiting =
      delivery.sagaId === undefined ? undefined : (await store.runs([delivery.sagaId])).get(delivery.sagaId);
    if (waiting) this.#refuseUnknown(waiting);
    const role = decider.roleOf(delivery, waiting).kind;
    if (role === "act" || role === "undo") {
      const error = "ResolvedByHand";
      const failed = { kind: "exhausted", error } as const;
      const prepared = await decider.prepare(delivery, waiting, failed);
      const { move, out } = decider.outcomeOf(delivery, waiting, prepared, failed);
      if (!move || !(await store.supersede(delivery, error, { ...move, note: text }, out))) throw notNow(id);
    } else if ((await store.query(supersedeDelivery(this.#db.dialect, id, text))).length === 0) {
      if (!(await this.#isNoted("delivery", id, text))) throw notNow(id);
    }
    this.#engine.pool.dueIn(0);
  }

  /** The note of an operator action: action, reason and time by the database's clock. */
  async #noted(action: string, note: OperatorNote): Promise<string> {
    const { reason, by } = checkNote(note, "the run's notes");
    const at = new Date(await readNowMs(this.#reader)).toISOString();
    return JSON.stringify({ action, reason, ...(by !== undefined && { by }), at });
  }

  /** Refused because an earlier commit of the same action, whose answer was lost, succeeded. */
  async #isNoted(kind: "run" | "delivery", id: string, text: string): Promise<boolean> {
    const find = kind === "run" ? findNotedRun : findNoted;
    return (await this.#engine.store.query(find(this.#db.dialect, id, text))).length > 0;
  }

  async #view(row: Row): Promise<FlowView> {
    const run = STORED_RUN.read(row);
    const { registry } = this.#engine;
    const saga = registry.saga(run.sagaType);
    return flowView(run, await readTrail(this.#reader, trailOf(run)), saga && registry.plan(saga));
  }

  async #stalled(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#engine.store.query(selectRuns(this.#db.dialect, [id]));
    return row && toRun(STORED_RUN.read(row), this.#db.clock.monotonicMs());
  }

  /** Without the definition, the next compensation is unknown. */
  #refuseUnknown({ sagaId, sagaType }: RunRecord): void {
    if (this.#engine.registry.saga(sagaType)) return;
    throw new AmendsError(
      "NOT_SUPPORTED",
      `Saga ${sagaType} is not registered in this process. Call this in a process that has the saga in \`events\`.`,
      { id: sagaId },
    );
  }

  async #steer(run: RunRecord, event: FlowEvent, action: string, note: OperatorNote): Promise<void> {
    this.#refuseUnknown(run);
    const text = await this.#noted(action, note);
    const decided = await this.#engine.decider.steer(run, event, text);
    if (!decided) throw notNow(run.sagaId);
    const done = await this.#engine.store.move(decided.move, decided.out);
    if (!done && !(await this.#isNoted("run", run.sagaId, text))) throw notNow(run.sagaId);
    this.#engine.pool.dueIn(0);
  }
}

function notNow(id: string): AmendsError {
  return new AmendsError(
    "NOT_ALLOWED_NOW",
    "Only a stalled run or an abandoned event can be retried or resolved. Read its current status with `inspect`.",
    { id },
  );
}

/** Runs are written before the rows that begin them, so they go into the first statement. */
function* parts({ rows, runs }: Fanout): Generator<Fanout> {
  for (let at = 0; at < rows.length || at === 0; at += ROWS_MAX) {
    yield { rows: rows.slice(at, at + ROWS_MAX), runs: at === 0 ? runs : [] };
  }
}
