/** What callers hand in goes through its schema, and is stored as what the schema makes of it. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { AmendsError } from "../../core/errors.ts";
import { encodeJson } from "../../core/json.ts";

/** The value as JSON text. `field` says what it is ("The input of saga order"), `whole` what its root is called. */
export async function throughSchema(
  schema: StandardSchemaV1,
  given: unknown,
  field: string,
  whole: string,
): Promise<string> {
  const result = await schema["~standard"].validate(given);
  if (result.issues) {
    const issues = result.issues.map(({ message, path }) => ({
      path: (path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join("."),
      message,
    }));
    const listed = issues.map(({ path, message }) => `${path === "" ? whole : path}: ${message}`).join("; ");
    throw new AmendsError("BAD_INPUT", `${field} does not fit its schema: ${listed}`, { issues });
  }
  return encodeJson(result.value, { field, code: "BAD_INPUT" }) ?? "null";
}
