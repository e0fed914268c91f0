/** How long the oldest due work of each part has waited, in milliseconds; 0 where nothing waits. */
import { dueDeliveryAge, dueEntryAge } from "../../outbox/read/figures.ts";
import { dueSagas } from "../../sagas/read/figures.ts";
import { dueScheduleAge } from "../../schedules/read/figures.ts";
import { readFigures } from "../../storage/read/figures.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { dueWebhookAge } from "../../webhooks/read/list.ts";

export type DueAges = Readonly<Record<"sagas" | "outbox" | "events" | "webhooks" | "schedules", number>>;

export async function dueAges(reader: Reader): Promise<DueAges> {
  const { dialect } = reader;
  const { oldestMs: sagas } = await dueSagas(reader, 1);
  const parts = await readFigures(reader, {
    outbox: dueEntryAge(dialect),
    events: dueDeliveryAge(dialect),
    webhooks: dueWebhookAge(dialect),
    schedules: dueScheduleAge(dialect),
  });
  return { sagas, ...parts };
}
