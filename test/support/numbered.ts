/** Rows with the numbers from 0 on, for tests that fill tables. */
import { randomUUID } from "node:crypto";
import { int, uuid } from "../../src/storage/column.ts";
import type { Dialect } from "../../src/storage/database.ts";
import { fields } from "../../src/storage/fields.ts";
import type { Sql } from "../../src/storage/sql.ts";

interface Numbered {
  readonly n: number;
  readonly id: string;
}

const NUMBERED = fields<Numbered>({ n: int(({ n }) => n), id: uuid(({ id }) => id) });

/** The relation `r`: `r.n` counts from 0 on, `r.id` is a UUID. */
export function numbered(dialect: Dialect, count: number): Sql {
  return dialect.rows(
    NUMBERED,
    Array.from({ length: count }, (_, n) => ({ n, id: randomUUID() })),
  );
}
