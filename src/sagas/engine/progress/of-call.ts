/** The progress of one call: what it reports goes to its run, from where the lease's renewal takes it along. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../../core/errors.ts";
import { encodeJson } from "../../../core/json.ts";
import { callName, PROGRESS_BYTES_MAX, withReported } from "../../../core/saga/progress.ts";
import { wallMs } from "../../../storage/clock.ts";
import { fitting } from "../../define/input.ts";
import type { CallRequest, CallTools } from "../call.ts";

export class CallProgress {
  readonly #tools: CallTools;
  readonly #request: CallRequest;
  /** As JSON, what an earlier attempt has reported. */
  readonly #before: string | undefined;

  constructor(tools: CallTools, request: CallRequest) {
    const { step, run, command } = request;
    if (step.transaction)
      throw new AmendsError(
        "NOT_SUPPORTED",
        "A transactional step has no progress: what it has done is rolled back with a failed try.",
      );
    this.#tools = tools;
    this.#request = request;
    this.#before = run.progress?.get(callName(command))?.json;
  }

  /** A call that is over reports nothing more: the next attempt of it may have begun. */
  report(value: unknown): void {
    const { step, run, command, isOver } = this.#request;
    const field = `The progress of step ${step.name}`;
    const door = { field, allowNul: true, bytesMax: PROGRESS_BYTES_MAX };
    const json = encodeJson(value, door) ?? "null";
    if (step.progress) fitting(validated(step.progress, value, step.name), field, "(progress)");
    if (isOver) return;
    const reported = { json, atMs: wallMs(this.#tools.clock) };
    run.progress = withReported(run.progress, callName(command), reported);
  }

  /** A value that an earlier definition reported may not fit any more: the call then begins as if it knew nothing. */
  get last(): unknown {
    if (this.#before === undefined) return undefined;
    const { step, run } = this.#request;
    const value = JSON.parse(this.#before) as unknown;
    if (!step.progress) return value;
    const result = validated(step.progress, value, step.name);
    if (!result.issues) return result.value;
    this.#tools.warn?.(
      { id: run.id, saga: run.definition.name, step: step.name },
      "amends: the stored progress of a step does not fit its schema; it is not handed on",
    );
    return undefined;
  }
}

function validated(schema: StandardSchemaV1, value: unknown, step: string): StandardSchemaV1.Result<unknown> {
  const result = schema["~standard"].validate(value);
  if (!(result instanceof Promise)) return result;
  result.catch(() => undefined);
  throw new AmendsError(
    "BAD_DEFINITION",
    `The schema of \`progress\` of step ${step} must answer at once, not with a promise.`,
    { step },
  );
}
