/** What callers hand in goes through its schema, and is stored as what the schema makes of it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";

/** The value as JSON text. `field` says what it is ("The input of saga order"), `whole` what its root is called. */
export function throughSchema(
  schema: StandardSchemaV1,
  given: unknown,
  field: string,
  whole: string,
): string | Promise<string> {
  const result = schema["~standard"].validate(given);
  // Most schemas answer at once.
  return result instanceof Promise
    ? result.then((validated) => toJson(validated, field, whole))
    : toJson(result, field, whole);
}

function toJson(result: StandardSchemaV1.Result<unknown>, field: string, whole: string): string {
  return encodeJson(fitting(result, field, whole), { field, code: "BAD_INPUT" }) ?? "null";
}

/** What the schema made of the value. Throws if the value does not fit. */
export function fitting(result: StandardSchemaV1.Result<unknown>, field: string, whole: string): unknown {
  if (result.issues) {
    const issues = result.issues.map(({ message, path }) => ({
      path: (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join("."),
      message,
    }));
    const listed = issues.map(({ path, message }) => `${path === "" ? whole : path}: ${message}`).join("; ");
    throw new AmendsError("BAD_INPUT", `${field} does not fit its schema: ${listed}`, { issues });
  }
  return result.value;
}
