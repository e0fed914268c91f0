/** Children and reversals in a database. */
import { reversalOf } from "../../core/saga/state.ts";
import type { Database, Row, Session } from "../../storage/database.ts";
import {
  adoptReversal,
  copyLines,
  FOUND,
  insertReversal,
  RELATIVE,
  selectChildId,
  selectRelatives,
  selectReversalId,
} from "./family-queries.ts";
import {
  OPERATOR_TOKEN,
  type Family,
  type NewReversal,
  type Parent,
  type Relative,
  type SagaRecord,
} from "./journal.ts";
import { insertLines } from "./line-queries.ts";
import { selectLogs, selectSaga } from "./queries.ts";
import { toLogEntry, toRecord } from "./rows.ts";

export class DatabaseFamily implements Family {
  readonly #db: Database;
  readonly #persist: <T>(work: () => Promise<T>) => Promise<T>;

  constructor(db: Database, persist: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#persist = persist;
  }

  childOf(parent: Parent): Promise<SagaRecord | undefined> {
    return this.#persist(() =>
      this.#db.transaction(async (session) => {
        const id = idIn(await session.query(selectChildId(session.dialect, parent)));
        return id === undefined ? undefined : load(session, id);
      }),
    );
  }

  reverse(reversal: NewReversal, check: (record: SagaRecord) => void): Promise<SagaRecord | undefined> {
    return this.#persist(() => this.#db.transaction((session) => reverse(session, reversal, check)));
  }

  async relatives(id: string): Promise<readonly Relative[]> {
    const rows = await this.#persist(() => this.#db.query(selectRelatives(this.#db.dialect, id)));
    return rows.map((row) => {
      const { reverses, ...relative } = RELATIVE.read(row);
      return { ...relative, isReversal: reverses !== undefined };
    });
  }
}

async function reverse(
  session: Session,
  reversal: NewReversal,
  check: (record: SagaRecord) => void,
): Promise<SagaRecord | undefined> {
  const { dialect } = session;
  const { id, ids, entry, parent } = reversal;
  const completed = await load(session, id);
  if (!completed) return undefined;
  check(completed);
  const { status } = reversalOf(completed.state);
  for (const as of ids) {
    if (idIn(await session.query(insertReversal(dialect, reversal, as, status))) !== undefined) {
      await session.query(copyLines(dialect, id, as));
      const version = completed.version + 1;
      await session.query(insertLines(dialect, [{ sagaId: as, version, token: OPERATOR_TOKEN, entry }]));
      const notice = dialect.notify();
      if (notice) await session.query(notice);
      return load(session, as);
    }
    // The saga is taken back already, or another saga has this id.
    const known = idIn(await session.query(selectReversalId(dialect, id)));
    if (known === undefined) continue;
    if (parent) await session.query(adoptReversal(dialect, known, parent));
    return load(session, known);
  }
  return undefined;
}

function idIn([row]: readonly Row[]): string | undefined {
  return row && FOUND.read(row).id;
}

async function load(session: Session, id: string): Promise<SagaRecord | undefined> {
  const [row] = await session.query(selectSaga(session.dialect, id, false));
  if (!row) return undefined;
  const lines = await session.query(selectLogs(session.dialect, [id]));
  return toRecord(row, lines.map(toLogEntry));
}
