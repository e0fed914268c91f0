/** Builds the parts that run sagas of steps: the registry, the journal, the engine, and what operators do to sagas. */
import { ContractJournal } from "../contract/journal.ts";
import { newId } from "../runtime/identifiers.ts";
import type { PartContext } from "../runtime/part.ts";
import { Registry } from "../sagas/define/registry.ts";
import { Engine } from "../sagas/engine/engine.ts";
import { DatabaseJournal } from "../sagas/journal/database-journal.ts";
import type { Journal } from "../sagas/journal/journal.ts";
import { foundLost } from "../sagas/lost/lost.ts";
import { Operators, type BulkItem } from "../sagas/view/operators.ts";
import type { ScheduledSagas } from "../schedules/sagas.ts";
import type { RefusedWrites } from "../storage/write/refused-writes.ts";
import type { DatabaseOptions, StorageOptions } from "./amends-options.ts";
import type { Notices } from "./log/notices.ts";
import { stepTracing } from "./saga-tracing.ts";

export interface SagaParts {
  readonly registry: Registry;
  readonly journal: Journal;
  readonly engine: Engine;
  readonly operators: Operators;
}

export function buildSagaParts<Tx, Category extends string>(
  options: DatabaseOptions<Tx, Category> | StorageOptions,
  context: PartContext<Tx>,
  notices: Notices,
): SagaParts {
  const onRefused = (refused: RefusedWrites): void => context.onRefused("sagas", refused);
  const registry = new Registry(options.sagas ?? [], options.database);
  const journal = options.database
    ? new DatabaseJournal({
        db: options.database,
        signal: context.closing,
        watch: context.watch("write sagas"),
        onRefused,
        onHeld: (ms) => engine.dueIn(ms),
      })
    : new ContractJournal(options.storage, options.clock?.virtualNowMs);
  const { clock, owner, leaseMs, graceMs, errorCodes, keepMessages } = context;
  const engine = new Engine({
    clock,
    middleware: [...stepTracing(options.tracing), ...(options.middleware ?? [])],
    errorCodes,
    keepMessages,
    graceMs,
    newId,
    journal,
    database: options.database,
    registry,
    leaseMs,
    owner,
    onRefused,
    warn: (fields, message) => context.warn(fields, message),
    onStalled: (run) => notices.stalled(run),
    onRewound: (run, foundVersion) => {
      notices.rewound(run, foundVersion);
      if (foundVersion === undefined) foundLost(options.database, run.id, run.definition.name);
    },
    onBug: (error) => notices.bug(error),
  });
  return { registry, journal, engine, operators: new Operators(journal, engine, () => undefined) };
}

/** The actions of operators on one saga each, as items of a bulk action. */
export function bulkOperators({ journal, engine }: SagaParts): (item: BulkItem) => Operators {
  return (item) => new Operators(journal, engine, () => undefined, item);
}

/** What schedules ask of these parts. */
export function scheduledSagas({ registry, journal, engine }: SagaParts): ScheduledSagas {
  return {
    kinds: () => registry.kinds(),
    prepare: (saga, input, id) => engine.starts.prepare(saga, input, id),
    prepareKnown: (kind, input, id) => engine.starts.prepareKnown(kind, input, id),
    // The lock of its schedule says that a tick is new: a saga with its id is that of the tick.
    create: (session, sagas) => journal.createAll(sagas, () => undefined, session),
    created: (count) => {
      engine.counters.started += count;
      engine.dueIn(0);
    },
  };
}
