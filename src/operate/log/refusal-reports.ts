/**
 * Outcomes that the database refuses to record for a lasting reason: one line in the log when it begins and one when it
 * is over, and a row for attention and doctor.
 */
import type { Database } from "../../storage/database.ts";
import { whatWasSaid } from "../../storage/refusal.ts";
import { reportRefusal, type RefusedWrites } from "../../storage/write/refused-writes.ts";
import type { Logger } from "./logger.ts";

export interface RefusalTools {
  readonly database: Database | undefined;
  readonly logger: Logger;
  readonly owner: string;
}

export class RefusalReports {
  readonly #tools: RefusalTools;
  /** The error code that was logged, by operation. */
  readonly #logged = new Map<string, string>();
  /** Reports are written one after another, so that the last one stands. */
  #writing: Promise<unknown> = Promise.resolve();

  constructor(tools: RefusalTools) {
    this.#tools = tools;
  }

  report(operation: string, refused: RefusedWrites): void {
    this.#log(operation, refused);
    const { database, owner } = this.#tools;
    if (!database) return;
    const statement = reportRefusal(database.dialect, operation, owner, refused);
    // The login may not write the report either. The log has it in any case.
    this.#writing = this.#writing.then(() => database.query(statement)).catch(() => undefined);
  }

  #log(operation: string, { error, waiting }: RefusedWrites): void {
    const { logger } = this.#tools;
    const { code } = error;
    if (waiting === 0) {
      this.#logged.delete(operation);
      logger.info({ operation, code }, "amends: the database records outcomes again");
    } else if (this.#logged.get(operation) !== code) {
      this.#logged.set(operation, code);
      const { state, said } = whatWasSaid(error);
      logger.error(
        { operation, code, state, cause: said, advice: error.message },
        "amends: the database refuses to record outcomes; they are kept and written again, and nothing is called again",
      );
    }
  }
}
