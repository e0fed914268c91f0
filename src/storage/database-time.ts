/** What time it is, by the clock that decides: the database's, or the test kit's in its place. */
import type { Reader } from "./read/reader.ts";
import { sql } from "./sql.ts";

export async function readNowMs(reader: Reader): Promise<number> {
  const { dialect } = reader;
  const [row] = await reader.query(sql`select ${dialect.epochMs(dialect.now())} as now_at`);
  return Number(row?.["now_at"]);
}
