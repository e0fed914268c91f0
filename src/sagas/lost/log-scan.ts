/**
 * Looks for lines without a saga, a part of the log at a time, so that attention has them although nobody asks the doctor.
 * All workers of a database together make one pass a minute, and a pass reads at most 5,000 lines, however long the log is.
 */
import type { Database } from "../../storage/database.ts";
import { scanned } from "../../storage/read/scan.ts";
import { beginPass, endPass, recordLost, selectPass } from "./queries.ts";

const PASS_MS = 60_000;
const LINES_MAX = 5_000;
/** Where the next round begins: no saga has an empty id. */
const START = "";

export class LogScan {
  readonly #db: Database;
  readonly #linesMax: number;
  #nextAtMs = -Infinity;

  constructor(db: Database, linesMax: number = LINES_MAX) {
    this.#db = db;
    this.#linesMax = linesMax;
  }

  /** Makes a pass if one is due. A pass that fails is made again with the next one: no claim must fail for it. */
  async passIfDue(): Promise<void> {
    const nowMs = this.#db.clock.monotonicMs();
    if (nowMs < this.#nextAtMs) return;
    this.#nextAtMs = nowMs + PASS_MS;
    await this.#pass().catch(() => undefined);
  }

  async #pass(): Promise<void> {
    const { dialect } = this.#db;
    const [begun] = await this.#db.query(beginPass(dialect, PASS_MS));
    if (!begun) return;
    const position = begun["position"] as string;
    const rows = await this.#db.query(selectPass(dialect, position, this.#linesMax));
    const { hits, cut } = scanned(rows, this.#linesMax);
    const lost = hits.map((row) => ({ sagaId: row["saga_id"] as string, name: undefined }));
    const next = (cut?.["saga_id"] as string | undefined) ?? START;
    const writes = [
      ...(lost.length === 0 ? [] : [recordLost(dialect, lost)]),
      ...(next === position ? [] : [endPass(dialect, next)]),
    ];
    if (writes.length > 0) await this.#db.batch(writes);
  }
}
