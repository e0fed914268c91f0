/** The current time by the database's clock, or by the virtual clock of tests. */
import type { Reader } from "./read/reader.ts";
import { sql } from "./sql.ts";

export async function readNowMs(reader: Reader): Promise<number> {
  const { dialect } = reader;
  const [row] = await reader.query(sql`select ${dialect.epochMs(dialect.now())} as now_at`);
  return Number(row?.["now_at"]);
}
