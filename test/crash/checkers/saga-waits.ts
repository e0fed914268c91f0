/** The invariants of waiting sagas: no signal is lost, received twice, or left unread while a saga waits for it. */
import { sagaMachine } from "../../../src/core/saga/machine.ts";
import { arrivalNames } from "../../../src/core/saga/steps/wait.ts";
import type { Database, Row } from "../../../src/storage/database.ts";
import { raw, sql, type Sql } from "../../../src/storage/sql.ts";
import type { SagaHistory } from "./saga-history.ts";
import { snapshot } from "./snapshot.ts";

const SLACK_MS = 1_000;

export interface Waits {
  readonly rows: ReadonlyMap<string, Row>;
  readonly signals: readonly Row[];
  readonly interests: readonly Row[];
}

export async function readWaits(database: Database): Promise<Waits> {
  const { dialect } = database;
  const ms = (column: string): Sql => dialect.epochMs(raw(column));
  const [rows = [], signals = [], interests = []] = await snapshot(database, [
    sql`select id, signals, ${ms("next_attempt_at")} as gate_ms, ${ms("updated_at")} as updated_ms
      from ${dialect.table("saga_executions")}`,
    sql`select saga_id, number, name, ${ms("created_at")} as sent_ms from ${dialect.table("saga_signals")} order by saga_id, number`,
    sql`select saga_id, step_name from ${dialect.table("saga_interests")}`,
  ]);
  return { rows: new Map(rows.map((row) => [row["id"] as string, row])), signals, interests };
}

export function checkWaits({ record, state }: SagaHistory, { rows, signals, interests }: Waits): string[] {
  const wrong: string[] = [];
  const report = (rule: string, what: string): void => void wrong.push(`${rule}: saga ${record.id}: ${what}`);
  const mine = signals.filter((signal) => signal["saga_id"] === record.id);
  const row = rows.get(record.id) as Row;
  const numbers = mine.map((signal) => Number(signal["number"]));
  if (numbers.some((number, index) => number !== index + 1))
    report("S-25", `its signals are ${numbers.join()}`);
  if (Number(row["signals"]) !== numbers.length)
    report("S-25", `its row counts ${Number(row["signals"])} signals, ${numbers.length} were sent`);
  const taken = state.steps.flatMap(({ received }) => (received === undefined ? [] : [received]));
  if (new Set(taken).size < taken.length) report("S-25", `one signal was received twice: ${taken.join()}`);
  record.plan.forEach(({ name, wait }, index) => {
    const step = state.steps[index];
    if (!wait || !step) return;
    const names: readonly unknown[] = arrivalNames(name, wait);
    const got = mine.find((signal) => Number(signal["number"]) === step.received);
    if (step.received !== undefined && !names.includes(got?.["name"]))
      report("S-25", `${name} received a signal of another name`);
    const isOpen = state.status === "RUNNING" && step.act === "waiting" && record.owner === undefined;
    const there = mine.find(
      (signal) => names.includes(signal["name"]) && !taken.includes(Number(signal["number"])),
    );
    // With any clock, the saga is due from the moment at which the signal was sent and the wait had begun.
    const dueMs = Math.max(Number(there?.["sent_ms"]), Number(row["updated_ms"])) + SLACK_MS;
    if (isOpen && there && Number(row["gate_ms"]) > dueMs)
      report("S-25", `${name} waits for a signal that was sent, but the saga is not due`);
    const isKept = interests.some((one) => one["saga_id"] === record.id && one["step_name"] === name);
    if (wait.kind === "event" && isKept === sagaMachine.isTerminal(state.status))
      report(
        "S-25",
        `${state.status}, but its interest in ${String(wait.target)} is ${isKept ? "" : "not "}stored`,
      );
  });
  return wrong;
}
