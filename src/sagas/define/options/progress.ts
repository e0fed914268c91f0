/** What a long call may report of its progress, as the compiler sees it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Json } from "../../../core/json.ts";

/** Progress without a schema: anything that JSON can hold. */
export type JsonProgress = StandardSchemaV1<Json, Json>;

/** What a call of a transactional step has instead of its progress. */
export type NoProgress =
  "A transactional step has no progress: what it has done is rolled back with a failed try.";

/** How a call reports its progress. */
export type ReportProgress<Tx, Progress extends StandardSchemaV1> = [Tx] extends [undefined]
  ? (value: StandardSchemaV1.InferInput<Progress>) => void
  : NoProgress;

/** The progress that an earlier attempt reported. */
export type LastProgress<Tx, Progress extends StandardSchemaV1> = [Tx] extends [undefined]
  ? StandardSchemaV1.InferOutput<Progress> | undefined
  : NoProgress;

/** The progress of a call that may take long. */
export interface Progressing<Tx, Progress extends StandardSchemaV1> {
  /**
   * Reports how far this attempt has come: at most 16 KiB of JSON; a later value replaces an earlier one. It costs no statement: the
   * value is stored when the lease is renewed, and when the attempt ends without an outcome.
   */
  readonly progress: ReportProgress<Tx, Progress>;
  /**
   * The last stored progress of the earlier attempts of this call; undefined if there is none. The work may be further than it says.
   */
  readonly lastProgress: LastProgress<Tx, Progress>;
}

/** The option that types progress. */
export interface ProgressOption<Progress extends StandardSchemaV1> {
  /**
   * The schema of what the act and the compensation report with `progress`, from any Standard Schema library. It types `progress`
   * and `lastProgress`; stored progress that no longer fits it is not handed on. Default: anything that JSON can hold.
   */
  readonly progress?: Progress;
}
