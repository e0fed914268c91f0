/** `amends.events`: publish events, look at the runs of sagas over them, and steer what needs a person. */
import { AmendsError } from "../core/errors.ts";
import type { FlowEvent } from "../core/flow/decide.ts";
import { isUuid, sealOf } from "../core/flow/sealed.ts";
import { SUPERSEDED, settled } from "../core/outbox/machine.ts";
import { checkNote, type OperatorNote } from "../core/operator-note.ts";
import { readTrail } from "../outbox/read/list.ts";
import { readNowMs } from "../storage/database-time.ts";
import type { Database, Row } from "../storage/database.ts";
import type { Reader } from "../storage/read/reader.ts";
import { COMMIT_SOON_MS } from "../runtime/duty.ts";
import type { Fanout, RunRecord } from "./run/delivery.ts";
import type { EventEngine } from "./run/engine.ts";
import type { EventValue } from "./define/event.ts";
import { fanOut, FROM_OUTSIDE } from "./run/fanout.ts";
import {
  requeueDelivery,
  selectDelivery,
  selectNoted,
  selectRun,
  selectRunsOf,
  supersedeDelivery,
} from "./store/queries.ts";
import { toDelivery, toRun, trailOf } from "./store/rows.ts";
import { FlowRun } from "./run-handle.ts";
import type { AnySagaDef } from "./define/saga-def.ts";
import { flowView, type FlowStepView, type FlowView } from "./view.ts";

/** So many rows travel in one statement. */
const ROWS_MAX = 5_000;

const RELEASED = settled("release");

export class EventFlow<Tx = unknown> {
  readonly #engine: EventEngine;
  readonly #db: Database<Tx>;
  readonly #reader: Reader;

  constructor(engine: EventEngine, db: Database<Tx>) {
    this.#engine = engine;
    this.#db = db;
    this.#reader = { dialect: db.dialect, query: (statement) => engine.store.query(statement) };
  }

  /** Deliveries that were lost to another process: the fence held, and nothing of them was booked here. */
  get lost(): number {
    return this.#engine.pool.lost;
  }

  /**
   * Publishes events in the caller's own transaction: they exist exactly if it commits. Without a transaction they are
   * durable when this resolves. Returns the runs of sagas that they begin.
   */
  async publish(tx: Tx | undefined, events: EventValue | readonly EventValue[]): Promise<readonly FlowRun[]> {
    const list = (Array.isArray(events) ? events : [events]) as readonly EventValue[];
    for (const event of list) {
      if (!sealOf(event))
        throw new AmendsError("BAD_INPUT", "Only events can be published, made by `event(…)`.");
    }
    const out = fanOut(this.#engine.registry, list, FROM_OUTSIDE);
    const trace = this.#engine.tracer.current();
    if (tx === undefined) {
      this.#db.refuseInside?.();
      await this.#engine.settle({ delivery: undefined, to: RELEASED, out, trace });
      return this.#handles(out);
    }
    const session = this.#db.join(tx);
    for (const part of parts(out))
      await this.#engine.store.settleIn(session, { delivery: undefined, to: RELEASED, out: part, trace });
    this.#engine.pool.dueIn(COMMIT_SOON_MS);
    return this.#handles(out);
  }

  #handles({ runs }: Fanout): readonly FlowRun[] {
    const { news, store } = this.#engine;
    const look = async (id: string) => (await store.runs([id])).get(id)?.state.status;
    const tools = { news, clock: this.#db.clock, look };
    return runs.map((run) => new FlowRun(tools, run));
  }

  /** A run by its id. */
  async inspect(id: string): Promise<FlowView | undefined> {
    const [row] = await this.#engine.store.query(selectRun(this.#db.dialect, id));
    return row && this.#view(row);
  }

  /** The runs of one process, the newest first. */
  async runs(saga: AnySagaDef | string, processId: unknown): Promise<readonly FlowView[]> {
    const name = typeof saga === "string" ? saga : saga.name;
    const key = typeof saga === "string" ? String(processId) : saga.serializeId(processId);
    const rows = await this.#engine.store.query(selectRunsOf(this.#db.dialect, name, key));
    return Promise.all(rows.map((row) => this.#view(row)));
  }

  /** The steps of a saga that this process knows; undefined where it does not. */
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
    }));
  }

  /** Lets a stalled run try its undo again, or an event that was given up its handler. */
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

  /**
   * A person has done what was to be done. A stalled run goes on with what is left to undo. An event that was given up
   * is done with; where a run waits for it, its step counts as failed.
   */
  async resolve(id: string, note: OperatorNote): Promise<void> {
    const run = await this.#stalled(id);
    if (run) return this.#steer(run, { kind: "resolve" }, "resolve", note);
    const { store, orchestrator } = this.#engine;
    const text = await this.#noted("resolve", note);
    const [row] = isUuid(id) ? await store.query(selectDelivery(this.#db.dialect, id)) : [];
    if (!row || row["status"] !== settled("abandon")) throw notNow(id);
    const delivery = toDelivery(row);
    const waiting =
      delivery.sagaId === undefined ? undefined : (await store.runs([delivery.sagaId])).get(delivery.sagaId);
    if (waiting) this.#refuseUnknown(waiting);
    const role = orchestrator.role(delivery, waiting).kind;
    if (role === "act" || role === "undo") {
      const settlement = orchestrator.handleResult(delivery, waiting, {
        end: "exhausted",
        error: "ResolvedByHand",
      });
      const move = settlement.move && { ...settlement.move, note: text };
      if (!(await store.steer({ ...settlement, to: SUPERSEDED, move }))) throw notNow(id);
    } else if ((await store.query(supersedeDelivery(this.#db.dialect, id, text))).length === 0) {
      if (!(await this.#isNoted("delivery", id, text))) throw notNow(id);
    }
    this.#engine.pool.dueIn(0);
  }

  /** What a person did, when by the database's clock, and why. */
  async #noted(action: string, note: OperatorNote): Promise<string> {
    const { reason, by } = checkNote(note, "the run's notes");
    const at = new Date(await readNowMs(this.#reader)).toISOString();
    return JSON.stringify({ action, reason, ...(by !== undefined && { by }), at });
  }

  /** Refused, because an earlier commit of the same deed, whose answer was lost, has done it. */
  async #isNoted(kind: "run" | "delivery", id: string, text: string): Promise<boolean> {
    const rows = await this.#engine.store.query(selectNoted(this.#db.dialect, kind, id, text));
    return rows.length > 0;
  }

  async #view(row: Row): Promise<FlowView> {
    return flowView(row, await readTrail(this.#reader, trailOf(row)));
  }

  async #stalled(id: string): Promise<RunRecord | undefined> {
    const [row] = await this.#engine.store.query(selectRun(this.#db.dialect, id));
    return row && toRun(row, this.#db.clock.monotonicMs());
  }

  /** Where its steps are not known, nobody can say what is to be undone next. */
  #refuseUnknown({ sagaId, sagaType }: RunRecord): void {
    if (this.#engine.registry.saga(sagaType)) return;
    throw new AmendsError(
      "NOT_SUPPORTED",
      `This process does not know the saga ${sagaType}: do it where \`eventSagas\` has it.`,
      { id: sagaId },
    );
  }

  async #steer(run: RunRecord, event: FlowEvent, action: string, note: OperatorNote): Promise<void> {
    this.#refuseUnknown(run);
    const text = await this.#noted(action, note);
    const decided = this.#engine.orchestrator.steer(run, event, text);
    if (!decided) throw notNow(run.sagaId);
    const done = await this.#engine.store.steer({ delivery: undefined, to: RELEASED, ...decided });
    if (!done && !(await this.#isNoted("run", run.sagaId, text))) throw notNow(run.sagaId);
    this.#engine.pool.dueIn(0);
  }
}

function notNow(id: string): AmendsError {
  return new AmendsError(
    "NOT_ALLOWED_NOW",
    "Only a stalled run, or an event that was given up, can be retried or resolved. Look at it again.",
    { id },
  );
}

/** The runs that rows begin are written before them, so they go with the first part. */
function* parts({ rows, runs }: Fanout): Generator<Fanout> {
  for (let at = 0; at < rows.length || at === 0; at += ROWS_MAX) {
    yield { rows: rows.slice(at, at + ROWS_MAX), runs: at === 0 ? runs : [] };
  }
}
