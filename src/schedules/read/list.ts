/** Reads schedules: pages by name, and one of them with its ticks. */
import { cursor, isText, type Page } from "../../core/cursor.ts";
import type { Row } from "../../storage/database.ts";
import type { Reader } from "../../storage/read/reader.ts";
import { selectSchedule } from "../queries.ts";
import { listSchedules, selectTicks, TICK_VIEW, type ScheduleRange } from "./queries.ts";
import { SCHEDULE } from "../rows.ts";
import { nextTicksOf, toListed, toTick, type ListedSchedule, type Schedule } from "./view.ts";

const PLACE = cursor<[string]>(isText);

export async function listPage(
  reader: Reader,
  { after, ...range }: ScheduleRange,
): Promise<Page<ListedSchedule>> {
  const [place] = PLACE.decode(after) ?? [];
  const { limit } = range;
  const rows = await reader.query(
    listSchedules(reader.dialect, { ...range, after: place, limit: limit + 1 }),
  );
  const items = rows.slice(0, limit).map(toItem);
  const last = rows.length > limit ? items.at(-1) : undefined;
  return { items, next: last && PLACE.encode(last.name) };
}

function toItem(row: Row): ListedSchedule {
  return toListed(SCHEDULE.read(row), row["number"] === null ? undefined : TICK_VIEW.read(row));
}

/** Undefined if there is none with this name. */
export async function readSchedule(
  reader: Reader,
  name: string,
  nextCount: number,
): Promise<Schedule | undefined> {
  const [found] = await reader.query(selectSchedule(reader.dialect, name, false));
  if (!found) return undefined;
  const row = SCHEDULE.read(found);
  const ticks = (await reader.query(selectTicks(reader.dialect, name))).map((one) => TICK_VIEW.read(one));
  return {
    ...toListed(row, ticks[0]),
    input: JSON.parse(row.input) as unknown,
    nextTicks: nextTicksOf(row, nextCount),
    lastTicks: ticks.map(toTick),
  };
}
