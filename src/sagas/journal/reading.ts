/** Reads sagas with their logs: in a transaction, or for callers of this process together. */
import type { Database, Dialect, Row, Session } from "../../storage/database.ts";
import { perform, type Work } from "../../storage/joins/work.ts";
import { GroupReader } from "../../storage/read/group-reader.ts";
import type { LogEntry, SagaRecord } from "./journal.ts";
import { selectLogs, selectSagas } from "./queries.ts";
import { toLogEntry, toRecord } from "./rows.ts";

/** By id; those that do not exist are left out. The rows are read first: a log that is newer than its row is complete. */
export function* reading(dialect: Dialect, ids: readonly string[]): Work<ReadonlyMap<string, SagaRecord>> {
  const rows = yield selectSagas(dialect, ids);
  const lines = new Map<string, LogEntry[]>(rows.map((row) => [idOf(row), []]));
  for (const line of yield selectLogs(dialect, ids))
    lines.get(line["saga_id"] as string)?.push(toLogEntry(line));
  return new Map(rows.map((row) => [idOf(row), toRecord(row, lines.get(idOf(row)) ?? [])]));
}

function idOf(row: Row): string {
  return row["id"] as string;
}

/** One read has at most this many sagas: each may have a log of many lines. */
const READ_MAX = 64;

export class SagaReader {
  readonly #db: Database;
  readonly #persist: <T>(work: () => Promise<T>) => Promise<T>;
  readonly #group: GroupReader<SagaRecord>;

  constructor(db: Database, persist: <T>(work: () => Promise<T>) => Promise<T>) {
    this.#db = db;
    this.#persist = persist;
    this.#group = new GroupReader({ read: (ids) => this.#read(ids), keysMax: READ_MAX });
  }

  async load(id: string, session: Session | undefined): Promise<SagaRecord | undefined> {
    if (!session) return this.#group.read(id);
    const { epoch = 0 } = this.#db;
    const record = (await perform(session, reading(session.dialect, [id]))).get(id);
    return record && { ...record, epoch };
  }

  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, SagaRecord>> {
    const { epoch = 0 } = this.#db;
    const found = await this.#persist(() => perform(this.#db, reading(this.#db.dialect, ids)));
    // The database was replaced during the read: rows and lines may belong to different databases.
    if (epoch !== (this.#db.epoch ?? 0)) return this.#read(ids);
    return new Map([...found].map(([id, record]) => [id, { ...record, epoch }]));
  }
}
