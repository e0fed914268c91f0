/**
 * The rows that a client returns, in the form of Amends' own. Values need no mapping here: every column is read by its kind
 * (column.ts), which takes a bigint as text, number or BigInt, a flag as boolean or number, and an instant as a number.
 * Column names do: some clients can be set to return them in camel, Pascal or kebab case, or in capitals.
 */
import { AmendsError } from "../../core/errors.ts";
import type { Row } from "../database.ts";

export function rowsOf(client: string, answer: unknown): readonly Row[] {
  if (!Array.isArray(answer)) {
    throw new AmendsError(
      "BAD_OPTION",
      `\`tx\` does not answer like a transaction of ${client}. Choose the adapter of your client with \`joins\`: docs/guides/your-client.md.`,
    );
  }
  const rows = answer as readonly Row[];
  const [first] = rows;
  return first && Object.keys(first).some(isRenamed) ? rows.map(inSnakeCase) : rows;
}

const RENAMED = /[A-Z-]/;
const SMALL = /[a-z]/;
const CAPITALS = /[A-Z]/g;

function isRenamed(name: string): boolean {
  return RENAMED.test(name);
}

function inSnakeCase(row: Row): Row {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [snakeOf(name), value]));
}

/** `sagaId`, `SagaId`, `saga-id` and `SAGA_ID` are `saga_id`. */
function snakeOf(name: string): string {
  if (!SMALL.test(name)) return name.toLowerCase();
  const split = name.replaceAll(CAPITALS, (letter, at) => `${at === 0 ? "" : "_"}${letter.toLowerCase()}`);
  return split.replaceAll("-", "_");
}
