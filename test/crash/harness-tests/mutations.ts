/**
 * Known bugs, each as patches of the compiled text. If a piece of that text no longer exists, the test fails, so that a
 * mutation cannot silently stop being one.
 */
import type { Patch } from "../child-processes/bundle.ts";

/** The first undo is called while the row still says RUNNING; its outcome is written right after COMPENSATING. */
export const UNDO_BEFORE_COMPENSATING: readonly Patch[] = [
  {
    file: "sagas/driver/settle.js",
    from: "if (run.hasWaits || run.hasPutOff || ended.some(hasFailed))",
    to: "",
  },
  {
    file: "sagas/driver/settle.js",
    from: "const how = await recorded(host, linesFor(host, run, ended, decided, rest));",
    to: `const lines = linesFor(host, run, ended, decided, rest);
    const early = async () => {
        if (run.state.status === "RUNNING" && lines.state.status === "COMPENSATING") {
            const undo = next(lines.state, factsOf(host, run));
            run.early = host.call(undo);
            while (!run.early.isOver) await host.until([run.early]);
        }
        return recorded(host, lines);
    };
    const how = await early();`,
  },
  {
    file: "sagas/driver/turn.js",
    from: "const pending = host.call(command);",
    to: `const pending = command.kind === "undo" && run.early?.command.step === command.step
        ? run.early
        : host.call(command);`,
  },
];

/** A checkpoint uses the next free version, and moves the row without checking the claim. */
export const SETTLE_WITHOUT_FENCE: readonly Patch[] = [
  {
    file: "sagas/journal/line-queries.js",
    from: "${LINE_VALUES}",
    to: '${sql([LINE_VALUES.text.replace("r.id", `(select coalesce(max(l.id), 1) + 1 from ${dialect.table("saga_logs").text} as l where l.saga_id = r.saga_id)`)])}',
  },
  {
    file: "sagas/journal/move-queries.js",
    from: "where c.id = r.id and c.token = r.token and c.status || '' = r.from_status",
    to: "where c.id = r.id",
  },
];

/** A recovery is counted when the saga is settled, not when it is claimed. */
export const RECOVERY_COUNTED_ON_SETTLE: readonly Patch[] = [
  {
    file: "sagas/journal/queries.js",
    from: "c.recovery_attempts + case when c.owner is null then 0 else 1 end",
    to: "c.recovery_attempts",
  },
  {
    file: "sagas/journal/move-queries.js",
    from: "recovery_attempts = case when r.recovered = 1 then 0 else c.recovery_attempts end",
    to: "recovery_attempts = c.recovery_attempts + 1",
  },
];

/** An entry's outcome is written without checking the claim. */
export const ENTRY_WITHOUT_TOKEN: readonly Patch[] = [
  {
    file: "outbox/settle-queries.js",
    from: '${holding(HELD_ROWS, raw("entry_id"))}',
    to: "c.entry_id = r.row_id and c.status || '' in (${literals(HELD_ROWS.states)})",
  },
];

/** A request completes while one of its entries is still in flight. */
export const COMPLETED_WHILE_IN_FLIGHT: readonly Patch[] = [
  {
    file: "outbox/settle-queries.js",
    from: "where c.status || '' in (${literals(BLOCKING)})",
    to: "where c.status || '' in (${literals(BLOCKING.filter((status) => status !== 'in_flight'))})",
  },
];

/** Audit events are written after the outcome, in a transaction of their own. */
export const AUDIT_AFTER_COMMIT: readonly Patch[] = [
  {
    file: "outbox/settle.js",
    from: "await sink.appendIn(session, events);",
    to: "(session.later ??= []).push(() => sink.append(events));",
  },
  {
    file: "outbox/settle.js",
    from: "db.transaction((session) => settleIn(session, settlements));",
    to: `db.transaction(async (session) => {
        const answers = await settleIn(session, settlements);
        const later = session.later ?? [];
        session.later = [];
        return [answers, later];
    }).then(async ([answers, later]) => {
        for (const append of later) await append();
        return answers;
    });`,
  },
];

/** A handler's outcome is written without checking the delivery's claim. */
export const DELIVERY_WITHOUT_TOKEN: readonly Patch[] = [
  {
    file: "outbox/deliveries/outcome-queries.js",
    from: "c.entry_id = r.row_id and c.token = r.row_token and (",
    to: "c.entry_id = r.row_id and (",
  },
];

/** A handler's writes are committed before its outcome. */
export const OUTCOME_AFTER_HANDLER_COMMIT: readonly Patch[] = [
  {
    file: "runtime/own-transaction.js",
    from: "last.written = await given.write(session, attempted.end);",
    to: `last.end = attempted.end;
        }, true);
        await db.transaction(async (session) => {
            last.written = await given.write(session, last.end);`,
  },
];

/** A success that arrives after its run began to compensate is recorded, but not undone. */
export const LATE_SUCCESS_NOT_UNDONE: readonly Patch[] = [
  {
    file: "core/flow/decide.js",
    from: 'const own = end === "err" ? [] : undoable(plan, [step]);',
    to: "const own = [];",
  },
];

/** The run moves in a statement of its own, before the events that it sends are written. */
export const RUN_MOVED_BEFORE_EVENTS: readonly Patch[] = [
  {
    file: "events/store/store.js",
    from: "return writeTogether(this.#tools, items);",
    to: `{
            const nothing = { rows: [], runs: [] };
            const bare = items.map(({ outcome, claims }) => ({ outcome, out: nothing, claims }));
            const answers = await writeTogether(this.#tools, bare);
            const rest = items.map(({ out }) => ({ outcome: undefined, out, claims: [] }));
            await writeTogether(this.#tools, rest);
            return answers;
        }`,
  },
];
