/**
 * The codes of refused calls. docs/reference/errors.md is made from these comments (`npm run reference`): the first
 * sentence says what happened, the rest says what to do.
 */

/** The codes of an `AmendsError`: stable names for programs. docs/reference/errors.md says what to do about each. */
export type ErrorCode =
  /**
   * A saga, step, event, handler, call or data map is defined in a way that cannot run. Correct the
   * definition; the message names it.
   */
  | "BAD_DEFINITION"
  /**
   * A duration cannot be read, or is not longer than zero. Pass milliseconds, or a text such as "30s" or
   * "5m".
   */
  | "BAD_DURATION"
  /**
   * An id or a name is empty, too long, has characters that are not allowed, or is taken. Pass one that fits
   * the rule in the message.
   */
  | "BAD_ID"
  /**
   * A value does not fit its schema, or a call got what it does not take. Correct the value; `details` names
   * the field where there is one.
   */
  | "BAD_INPUT"
  /**
   * A value is not JSON, is nested deeper than 64 levels, or is larger than 1 MiB. Store large data
   * elsewhere, and pass a reference to it.
   */
  | "BAD_JSON"
  /** An option is unknown, or its value is not allowed. Correct it; the message lists what is allowed. */
  | "BAD_OPTION"
  /**
   * A retry schedule contradicts itself, such as a cap that is shorter than the base. Correct the schedule.
   */
  | "BAD_POLICY"
  /**
   * A webhook secret or key is missing, malformed, or of the wrong kind. Sign with `whsec_…` or `whsk_…`;
   * verify with `whsec_…` or `whpk_…`.
   */
  | "BAD_SECRET"
  /**
   * The URL of a subscription is not one that webhooks may be sent to. Use a public https URL, or allow its
   * address with the options of `webhooks`.
   */
  | "BAD_URL"
  /**
   * A bulk action with this id was started with other items, another action or another reason. Use another id, or
   * repeat the first start.
   */
  | "BULK_CONFLICT"
  /** There is no bulk action with this id. Check the id, and whether retention has removed the action. */
  | "BULK_NOT_FOUND"
  /**
   * A call with this id was enqueued with another input, or was removed by retention meanwhile. Use another
   * id, or the same input.
   */
  | "CALL_CONFLICT"
  /**
   * The saga has completed or has passed its pivot, so that it cannot be cancelled. Start another saga that
   * makes up for it.
   */
  | "CANCEL_REFUSED"
  /** This Amends was closed. Make a new one; if it was closed on purpose, the process is shutting down. */
  | "CLOSED"
  /**
   * The configuration of a part contradicts itself or does not support the call (`ConfigurationError`).
   * Correct the configuration; the message says which option.
   */
  | "CONFIGURATION"
  /**
   * The database login lacks a right. Grant the right that the message names; work that waits for it goes on
   * by itself.
   */
  | "DATABASE_FORBIDDEN"
  /**
   * The database cannot be written: it is a standby, or a file without write permission. Connect to the
   * primary; during a failover this passes by itself.
   */
  | "DATABASE_READ_ONLY"
  /**
   * The database lost a part of what it had acknowledged, such as by a failover or a restore. Follow the
   * runbook in docs/guides/failover.md.
   */
  | "DATABASE_REWOUND"
  /**
   * The version of PostgreSQL or SQLite is too old to be safe. Update it; the message names the version that
   * is needed.
   */
  | "DATABASE_TOO_OLD"
  /**
   * The database did not answer, or the connection was lost, so that the change may or may not be written.
   * Repeat the call with the same id: nothing is done twice.
   */
  | "DATABASE_UNREACHABLE"
  /**
   * The database has settings under which it can lose what it acknowledged, or keep what was erased. Change
   * the setting that the message names; `durability: "server"` accepts a PostgreSQL with fsync off.
   */
  | "DATABASE_UNSAFE"
  /**
   * The database refused a statement for a reason that Amends does not know. Read `cause`, which is the
   * driver's error.
   */
  | "DATABASE_REFUSED"
  /**
   * The data map does not fit the tables of the database. Correct the map or the tables; the message has one
   * line for each difference.
   */
  | "DATA_MAP_MISFIT"
  /**
   * A row that has to stay refers to a row that would be deleted, and nothing was written. Map the table that
   * refers, or choose another strategy; the message names both.
   */
  | "ERASURE_REFUSED"
  /**
   * A migration differs from the one that was applied to this database. Check that no other program uses the
   * same tables, and that the package is a released version.
   */
  | "MIGRATION_CHANGED"
  /** The call writes in your own transaction, and none is open. Begin one and pass it as `{ tx }`. */
  | "NEEDS_TRANSACTION"
  /**
   * The action does not fit the present state. Read the state, which lists the actions that are allowed, and
   * decide again.
   */
  | "NOT_ALLOWED_NOW"
  /** The part is not configured in this Amends. Pass its options to `new Amends`; the message shows which. */
  | "NOT_CONFIGURED"
  /**
   * `prove` found a schedule after which an effect is neither completed nor undone. Read the report in the
   * message; its seed repeats the schedule.
   */
  | "NOT_PROVEN"
  /**
   * This database, storage, runtime or console does not have what the call needs. Use one that does; the
   * message names the alternative.
   */
  | "NOT_SUPPORTED"
  /**
   * Another writer changed the saga first, and nothing was written (`SagaConcurrencyError`). Load the saga
   * again and decide again.
   */
  | "SAGA_CONCURRENCY"
  /**
   * The saga cannot be taken back: it has not completed, it has a pivot, or it takes back another saga itself. Cancel a saga that is
   * under way; make up for one with a pivot by another saga.
   */
  | "REVERSE_REFUSED"
  /**
   * Another saga has this id: of another type, or with another input. Use another id; ids are unique over all
   * sagas.
   */
  | "SAGA_CONFLICT"
  /**
   * The saga has ended, so that nothing waits for the signal. Nothing was written, and a retry does not help.
   */
  | "SAGA_ENDED"
  /**
   * There is no saga or run with this id, or retention has removed it. Check the id; `archived` finds sagas
   * that were archived.
   */
  | "SAGA_NOT_FOUND"
  /** There is no schedule with this name. Check the name; `schedules.list` shows those that exist. */
  | "SCHEDULE_NOT_FOUND"
  /**
   * The tables of Amends do not exist, or are older than this version. Run `amends migrate` or
   * `amends.migrate()`.
   */
  | "SCHEMA_MISSING"
  /** The tables of Amends were made by a newer version. Update the package in this process. */
  | "SCHEMA_TOO_NEW"
  /** A stored webhook secret cannot be decrypted. Pass the key that encrypted it. */
  | "SECRET_UNREADABLE"
  /**
   * A wait was stopped by its signal or its limit, and what was waited for goes on. Wait again, or read the
   * state later.
   */
  | "STOPPED_WAITING"
  /**
   * The person was erased, and a correction would write personal data again; nothing was written. Pass
   * `afterErasure: "retained"` to correct what the law still keeps, or "anew" if the person is back under the
   * same id.
   */
  | "SUBJECT_ERASED"
  /**
   * The saga is not registered in this process, or is registered with other steps. Pass it in `new Amends({
   * sagas })`, or give the changed one another version.
   */
  | "UNKNOWN_SAGA"
  /** Another event was published under this id. Use another id, or publish the same event. */
  | "WEBHOOK_CONFLICT"
  /**
   * There is no subscription, delivery or dead letter with this id. Check the id; retention removes
   * deliveries that ended.
   */
  | "WEBHOOK_NOT_FOUND"
  /**
   * A received webhook is not authentic, is too old, or cannot be read (`WebhookVerificationError`). Answer
   * with 400 and do not process it.
   */
  | "WEBHOOK_REFUSED";
