/** The options of `new Amends`, and what is refused of them before anything is made. */
import type { Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { ErasureOptions } from "../erasure/erasure.ts";
import type { EventDefinition } from "../events/define/registry.ts";
import type { CallDefinition } from "../outbox/calls/definition.ts";
import type { CallsOptions } from "../outbox/calls/calls.ts";
import type { Middleware } from "../sagas/engine/call.ts";
import type { SagaStorage } from "../contract/contract.ts";
import type { AnySaga } from "../sagas/define/definition.ts";
import type { Clock } from "../storage/clock.ts";
import type { Database } from "../storage/database.ts";
import type { WebhooksOptions } from "../webhooks/settings.ts";
import type { Tracer } from "../runtime/trace.ts";
import type { Logger } from "./logger.ts";
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
  /** Wraps every act and every undo, in recovery too. The first one is the outermost. */
  readonly middleware?: readonly Middleware[];
  /** Where Amends writes what operators should know. Default: nowhere. */
  readonly logger?: Logger;
  /** Spans for all that is done: `tracing()` of `amends/opentelemetry`. */
  readonly tracing?: Tracer;
  /** How long a worker that vanished keeps its sagas and event deliveries. Default: 60s. */
  readonly lease?: Duration;
  /**
   * How long a call whose time is over may still take to return. What it answers in that time counts; after it, the try
   * counts as failed, and nothing is undone before the call has returned. Default: 10s.
   */
  readonly grace?: Duration;
  /** Codes of your own errors that may be stored as their labels. */
  readonly errorCodes?: readonly string[];
  /**
   * Also stores the messages of what acts, undos, handlers and calls throw. They may carry personal data, which erasure does
   * not reach. Resolvers of erasure never keep messages. Default: false, only labels are stored.
   */
  readonly keepMessages?: boolean;
  /** Called after a saga has stalled, durably. What it throws is logged and otherwise ignored. */
  readonly onStalled?: (signal: StalledSignal) => unknown;
}

/** `new Amends` on a database. A part that is not named here is neither built nor polled. */
export interface DatabaseOptions<Tx, Category extends string = string> extends CommonOptions {
  /** `sqlite("shop.db")` of `amends/sqlite`, or `postgres(url)` of `amends/postgres`. */
  readonly database: Database<Tx>;
  /** Handlers and event sagas that this process knows. An empty list is for a process that only publishes. */
  readonly events?: readonly EventDefinition[];
  /** Calls that this process makes, as a list, or with settings. An empty list is for a process that only enqueues. */
  readonly calls?: readonly CallDefinition[] | CallsOptions;
  /** How webhooks are delivered, and where they may go. */
  readonly webhooks?: WebhooksOptions;
  /** Where personal data is, and who else holds some. */
  readonly erasure?: ErasureOptions<Category>;
  /** How long what has ended is kept. Default: for ever. */
  readonly retention?: RetentionOptions;
  /** Only without a `database`. */
  readonly storage?: never;
}

/** Sagas in a storage of your own: everything but transactions, emitted events and lists works. */
export interface StorageOptions extends CommonOptions {
  /** The storage, which must pass `sagaStorageConformance` of `amends/testing`. */
  readonly storage: SagaStorage;
  /** For tests: a virtual clock from `amends/testing`. */
  readonly clock?: Clock;
  /** Only without a `storage`. */
  readonly database?: never;
  /** Needs a `database`. */
  readonly events?: never;
  /** Needs a `database`. */
  readonly calls?: never;
  /** Needs a `database`. */
  readonly webhooks?: never;
  /** Needs a `database`. */
  readonly erasure?: never;
  /** Needs a `database`. */
  readonly retention?: never;
}

/** The options of `amends.start`. */
export interface StartOptions<Tx> {
  /** The same id again, with the same input, is the same saga. Ids are unique over all sagas. Default: a new one. */
  readonly id?: string;
  /** Your own open transaction: the saga exists exactly if it commits. */
  readonly tx?: Tx;
}

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
      `A storage of your own carries sagas only: \`${part}\` needs a \`database\`.`,
    );
  }
}
