/** The options of `new Amends`, and what is refused of them before anything is made. */
import type { Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { AttributeValue } from "../core/start/attributes.ts";
import { CONTROLS } from "../core/start/controls.ts";
import type { ErasureOptions } from "../erasure/erasure.ts";
import type { EventDefinition } from "../events/define/registry.ts";
import type { EventsOptions } from "../events/set-up.ts";
import type { CallDefinition } from "../outbox/calls/definition.ts";
import type { CallsOptions } from "../outbox/calls/calls.ts";
import type { Middleware } from "../sagas/engine/call.ts";
import type { SagaStorage } from "../contract/contract.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import type { WebhooksOptions } from "../webhooks/settings.ts";
import type { Tracer } from "../runtime/trace.ts";
import type { Logger } from "./log/logger.ts";
import type { RetentionOptions } from "./retention/retention.ts";

/** A saga has stalled. It holds ids and labels only, so it may go to a chat or a pager. */
export interface StalledSignal {
  /** The saga's id. */
  readonly id: string;
  /** The name of its definition. */
  readonly saga: string;
  /** The step at which it stalled. */
  readonly step: string | undefined;
  /** Why it stalled. */
  readonly reason: string;
}

/** The options that every `new Amends` takes. */
export interface CommonOptions {
  /** The sagas of steps that this process knows. `amends.register` adds more. */
  readonly sagas?: readonly AnySaga[];
  /** Wraps every act and every compensation, in recovery too. The first one is the outermost. */
  readonly middleware?: readonly Middleware[];
  /** Where Amends writes its log. Default: nowhere. */
  readonly logger?: Logger;
  /** Records spans: `tracing()` of `amends/opentelemetry`. Default: no spans. */
  readonly tracing?: Tracer;
  /** The lease of sagas and event deliveries: how long a worker that vanished keeps them. Default: 60s. */
  readonly lease?: Duration;
  /**
   * How long a call may still take to return after its time limit. A result within this time counts; after it, the
   * attempt counts as failed, and nothing is undone before the call has returned. Default: 10s.
   */
  readonly grace?: Duration;
  /** Codes of your own errors that may be stored as labels. They must not hold personal data. */
  readonly errorCodes?: readonly string[];
  /**
   * Also stores the messages of errors that acts, compensations, handlers and calls throw. They may hold personal data,
   * which erasure does not reach. Messages of resolvers are never stored. Default: false, only labels are stored.
   */
  readonly keepMessages?: boolean;
  /** Called after a saga has stalled durably. Its errors are logged and ignored. */
  readonly onStalled?: (signal: StalledSignal) => unknown;
}

/** `new Amends` on a database. A part that is not named here is neither built nor polled. */
export interface DatabaseOptions<Tx, Category extends string = string> extends CommonOptions {
  /** `sqlite("shop.db")` of `amends/sqlite`, or `postgres(url)` of `amends/postgres`. */
  readonly database: Database<Tx>;
  /**
   * Handlers and event sagas that this process knows, as a list, or with settings. An empty list is for a process that
   * only publishes.
   */
  readonly events?: readonly EventDefinition[] | EventsOptions<Tx>;
  /** Calls that this process makes, as a list, or with settings. An empty list is for a process that only enqueues. */
  readonly calls?: readonly CallDefinition[] | CallsOptions;
  /** How webhooks are delivered, and where they may go. */
  readonly webhooks?: WebhooksOptions;
  /** Where the application keeps personal data, and which other systems hold some. */
  readonly erasure?: ErasureOptions<Category>;
  /** How long ended sagas, events and deliveries are kept. Default: forever. */
  readonly retention?: RetentionOptions;
  /** Not allowed beside `database`. */
  readonly storage?: never;
}

/**
 * Sagas in a storage that you implement: everything works but transactions, emitted events, priorities, attributes, `startMany` and
 * lists.
 */
export interface StorageOptions extends CommonOptions {
  /** The storage, which must pass `sagaStorageConformance` of `amends/testing`. */
  readonly storage: SagaStorage;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: Clock;
  /** Not allowed beside `storage`. */
  readonly database?: never;
  /** Events need a `database`. */
  readonly events?: never;
  /** Calls need a `database`. */
  readonly calls?: never;
  /** Webhooks need a `database`. */
  readonly webhooks?: never;
  /** Erasure needs a `database`. */
  readonly erasure?: never;
  /** Retention needs a `database`. */
  readonly retention?: never;
}

/** From when on a saga runs, how urgently, and by which attributes it is found. */
export interface StartControls<Attribute extends string = string> {
  /**
   * The earliest instant at which the saga runs, by the database's clock. It is recorded now; until then it is PENDING and
   * scheduled. Default: at once.
   */
  readonly runAt?: Date;
  /** The earliest time from now at which the saga runs, such as `"10m"`, instead of `runAt`. Default: at once. */
  readonly delay?: Duration;
  /**
   * A whole number from 0 to 10. Among the due sagas of one kind, workers take a saga of priority n as if it had become due n
   * minutes earlier: a higher priority comes first, and none waits forever. Default: 0.
   */
  readonly priority?: number;
  /**
   * Up to 16 small values to find the saga by, fixed at its start. They are not secret and must not hold personal data: lists, the
   * console and the command line show them. Default: none.
   */
  readonly attributes?: Readonly<Partial<Record<Attribute, AttributeValue>>>;
}

/** The options of `amends.start`. If a saga with this id exists, the options of its first start hold. */
export interface StartOptions<Tx, Attribute extends string = string> extends StartControls<Attribute> {
  /**
   * The id of the saga. The same id with the same input is the same saga; another input throws `SAGA_CONFLICT`. Ids are
   * unique over all sagas. Default: a new one.
   */
  readonly id?: string;
  /** Your own open transaction: the saga exists if and only if it commits. */
  readonly tx?: Tx;
}

/** One of the sagas that `amends.startMany` starts. */
export interface StartItem<Input, Attribute extends string = string> extends StartControls<Attribute> {
  /** What the saga is started with. */
  readonly input: Input;
  /** The id of the saga, as for `amends.start`. Default: a new one. */
  readonly id?: string;
}

/** The options of `amends.startMany`. */
export interface StartManyOptions<Tx> {
  /** Your own open transaction: the sagas exist if and only if it commits. */
  readonly tx?: Tx;
}

export const START_OPTIONS: readonly string[] = ["id", "tx", ...CONTROLS];

/** The parts beside the sagas, by the name of their option. */
export const PART_NAMES = ["events", "calls", "webhooks", "erasure", "retention"] as const;

export type PartName = (typeof PART_NAMES)[number];

export const OPTIONS: readonly string[] = [
  "database",
  "storage",
  "clock",
  "sagas",
  ...PART_NAMES,
  "middleware",
  "logger",
  "tracing",
  "lease",
  "grace",
  "errorCodes",
  "keepMessages",
  "onStalled",
];

/** Refuses what cannot be meant, before anything is made. */
export function checkOptions(options: object): void {
  refuseUnknown(options, OPTIONS, "new Amends");
  const { database, storage, ...rest } = options as { database?: unknown; storage?: Partial<SagaStorage> };
  const { query, dialect } = (database ?? {}) as { query?: unknown; dialect?: unknown };
  if (typeof query === "function" && dialect === undefined) {
    throw new AmendsError(
      "BAD_OPTION",
      "`database` is a pool or a client of pg. Pass `postgres({ pool })` of amends/postgres instead.",
    );
  }
  if (typeof query !== "function" && typeof storage?.createSaga !== "function") {
    throw new AmendsError(
      "BAD_OPTION",
      '`new Amends` needs a `database`, such as `sqlite("shop.db")` or `postgres(url)`, or a `storage`.',
    );
  }
  const part = PART_NAMES.find((name) => (rest as Partial<Record<PartName, unknown>>)[name] !== undefined);
  if (storage !== undefined && part !== undefined) {
    throw new AmendsError(
      "NOT_SUPPORTED",
      `A custom \`storage\` holds sagas only: \`${part}\` needs a \`database\`. Pass \`database\` instead.`,
    );
  }
}
