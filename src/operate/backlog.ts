/** How long the oldest due work of each part has waited, in milliseconds; 0 where nothing waits. */
import type { Database, Row } from "../storage/database.ts";
import { selectDueParts, selectDueSagas, type DuePart } from "./backlog-queries.ts";

export type DueAges = Readonly<Record<"sagas" | DuePart, number>>;

export async function dueAges({ dialect, query }: Pick<Database, "dialect" | "query">): Promise<DueAges> {
  const sagas = (await query(selectDueSagas(dialect, 1))).map(ageOf);
  const parts = (await query(selectDueParts(dialect))).map((row) => [row["part"] as DuePart, ageOf(row)]);
  return { sagas: Math.max(0, ...sagas), ...(Object.fromEntries(parts) as Record<DuePart, number>) };
}

export function ageOf(row: Row): number {
  return row["since"] === null ? 0 : Math.max(0, Math.round(Number(row["now_at"]) - Number(row["since"])));
}
