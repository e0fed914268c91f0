/**
 * The claim of calls. Calls without limits by key are claimed in one statement. A process that has calls with limits claims in a
 * transaction, in which it first reads what their limits allow (storage/limits/admission.ts).
 */
import { claimCount } from "../../core/claim-token.ts";
import type { DutyLook } from "../../runtime/duty.ts";
import type { Clock } from "../../storage/clock.ts";
import { Admission, type TakenRow } from "../../storage/limits/admission.ts";
import type { OutboxWriter } from "../outcome-writer.ts";
import { claimEntries, LIMITED_CALLS, type ClaimOptions } from "../queries.ts";
import { CLAIMED_CALL, type ClaimedCall } from "../rows.ts";
import { selectUntilCallDue, untilCallDue } from "./look-queries.ts";

export interface CallClaimsOptions {
  readonly writer: OutboxWriter;
  readonly clock: Clock;
  /** A definition of this process has limits. */
  readonly isLimited: boolean;
  /** Calls that their limits hold back may be let go after this long. */
  readonly onHeld: (ms: number) => void;
}

/** A claim that finds nothing looks for calls that other definitions gave limits, unless a look is younger than this. */
const LOOK_MS = 60_000;

export class CallClaims {
  readonly #options: CallClaimsOptions;
  readonly #admission = new Admission(LIMITED_CALLS);
  /** Open calls have limits that other definitions gave them: those of another deploy. */
  #hasFound = false;
  #lookedAtMs = -Infinity;

  constructor(options: CallClaimsOptions) {
    this.#options = options;
  }

  /** What the worker's look reads of calls with these names. */
  look(names: () => readonly string[]): DutyLook {
    const { dialect } = this.#options.writer;
    return {
      expression: () => (names().length > 0 ? untilCallDue(dialect, names()) : undefined),
      read: (value) => this.#looked(value),
    };
  }

  #looked(value: unknown): number | undefined {
    this.#lookedAtMs = this.#options.clock.monotonicMs();
    const { plain, limited } = untilOf(value);
    this.#hasFound = limited !== undefined;
    const known = [plain, limited].filter((ms) => typeof ms === "number");
    return known.length > 0 ? Math.min(...known) : undefined;
  }

  async claim(options: ClaimOptions): Promise<readonly ClaimedCall[]> {
    const { writer, isLimited, clock } = this.#options;
    if (isLimited || this.#hasFound) return this.#claimLimited(options);
    const taken = await writer.claim(CLAIMED_CALL, options);
    if (taken.length > 0 || clock.monotonicMs() - this.#lookedAtMs < LOOK_MS) return taken;
    const [row] = await writer.query(selectUntilCallDue(writer.dialect, options.names ?? []));
    this.#looked(row?.["until"]);
    return this.#hasFound ? this.#claimLimited(options) : taken;
  }

  async #claimLimited(options: ClaimOptions): Promise<readonly ClaimedCall[]> {
    const { writer, onHeld } = this.#options;
    const names = new Set(options.names);
    const { rows, againMs } = await writer.inTransaction((session) =>
      this.#admission.claim(
        session,
        names,
        options.limit,
        async (grants) => {
          const statement = claimEntries(session.dialect, CLAIMED_CALL, { ...options, grants });
          return (await session.query(statement)).map((row) => CLAIMED_CALL.read(row));
        },
        toTaken,
      ),
    );
    if (againMs !== undefined) onHeld(againMs);
    return rows;
  }
}

/** Without a number: none of them can be claimed. */
function untilOf(value: unknown): { readonly plain?: number | null; readonly limited?: number | null } {
  return typeof value === "string" ? (JSON.parse(value) as object) : {};
}

/** A call begins at its first claim, and again at the first one after an operator has requeued it. */
function toTaken({ name, limits, token, attempts, requeues }: ClaimedCall): TakenRow {
  return { name, limits, isFirst: claimCount(token) === 1 || (requeues > 0 && attempts === 1) };
}
