/**
 * Starts sagas in one transaction: all of them or none. A start whose id exists is checked against the saga that has it; a
 * conflict refuses all. In a caller's transaction a savepoint takes back what was written before the conflict was found.
 */
import { inSavepoint } from "../../../storage/joins/savepoint.ts";
import type { Work } from "../../../storage/joins/work.ts";
import type { Dialect } from "../../../storage/database.ts";
import type { Sql } from "../../../storage/sql.ts";
import { createdIn, isDue, startStatements } from "../flush.ts";
import type { CheckFound, Founded, NewSaga, SagaRecord } from "../journal.ts";
import { reading } from "../reading.ts";

/** The size of one insert in characters. */
const CHARACTERS_MAX = 4 * 1_048_576;

export function startingAll(
  dialect: Dialect,
  sagas: readonly NewSaga[],
  check: CheckFound,
  epoch: number,
): Work<readonly Founded[]> {
  const start = (): Work<readonly Founded[]> => starting(dialect, sagas, check, epoch);
  // One start that is refused has written nothing.
  return sagas.length < 2 ? start() : inSavepoint("amends_start", start);
}

function* starting(
  dialect: Dialect,
  sagas: readonly NewSaga[],
  check: CheckFound,
  epoch: number,
): Work<readonly Founded[]> {
  const created = new Set<string>();
  for (const chunk of chunksOf(sagas)) {
    const [insert, ...others] = startStatements(dialect, chunk, false);
    for (const id of createdIn(yield insert as Sql)) created.add(id);
    for (const statement of others) yield statement;
  }
  // Of two starts with one id, the first has created the saga, and the second one finds it.
  const isNew = sagas.map(({ id }) => created.delete(id));
  const existing = sagas.filter((_, index) => !isNew[index]).map(({ id }) => id);
  const records = existing.length > 0 ? yield* reading(dialect, existing) : NONE;
  const founded = sagas.map((saga, index): Founded => {
    if (isNew[index]) return "created";
    const found = records.get(saga.id);
    check(saga, found);
    return { ...(found as SagaRecord), epoch };
  });
  const notice = sagas.some((saga, index) => isNew[index] && isDue(saga)) ? dialect.notify() : undefined;
  if (notice) yield notice;
  return founded;
}

const NONE: ReadonlyMap<string, SagaRecord> = new Map();

/** Rows are inserted in the order of their ids, by every process: two that start the same ids do not deadlock. */
function chunksOf(sagas: readonly NewSaga[]): readonly (readonly NewSaga[])[] {
  const chunks: NewSaga[][] = [];
  let room = 0;
  for (const saga of sagas.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0))) {
    room -= saga.input.length;
    if (room < 0 || chunks.length === 0) {
      chunks.push([]);
      room = CHARACTERS_MAX - saga.input.length;
    }
    chunks.at(-1)?.push(saga);
  }
  return chunks;
}
