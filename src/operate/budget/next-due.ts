/** The next instant after now at which work of any part becomes due: when to run again, and what a test moves its clock to. */
import { nextBulkDue } from "../../bulk/queries.ts";
import { nextDeadline } from "../../events/store/run-queries.ts";
import { nextEntryDue } from "../../outbox/read/figure-queries.ts";
import { nextSagaDue } from "../../sagas/read/figure-queries.ts";
import { nextTickDue } from "../../schedules/read/queries.ts";
import { readFigures, type Figure } from "../../storage/read/figures.ts";
import type { Reader } from "../../storage/read/reader.ts";
import type { Sql } from "../../storage/sql.ts";
import { nextWebhookDue } from "../../webhooks/read/figure-queries.ts";

/** In milliseconds since the epoch; undefined if nothing becomes due. */
export async function nextDueMs(reader: Reader): Promise<number | undefined> {
  const { dialect } = reader;
  const found = await readFigures(reader, {
    sagas: at(nextSagaDue(dialect)),
    outbox: at(nextEntryDue(dialect)),
    runs: at(nextDeadline(dialect)),
    webhooks: at(nextWebhookDue(dialect)),
    schedules: at(nextTickDue(dialect)),
    bulk: at(nextBulkDue(dialect)),
  });
  const nextMs = Math.min(...Object.values(found));
  return Number.isFinite(nextMs) ? nextMs : undefined;
}

function at(expression: Sql): Figure<number> {
  return { expression, read: (value) => (value === null || value === undefined ? Infinity : Number(value)) };
}
