/**
 * The rows that a client returns, in the form of Amends' own. Values need no mapping here: every column is read by its kind
 * (column.ts), which takes a bigint as text, number or BigInt, a flag as boolean or number, and an instant as a number.
 * Column names do: some clients can be set to return them in camel case.
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
  return first && Object.keys(first).some(isCamel) ? rows.map(inSnakeCase) : rows;
}

const CAPITAL = /[A-Z]/;
const CAPITALS = /[A-Z]/g;

function isCamel(name: string): boolean {
  return CAPITAL.test(name);
}

function inSnakeCase(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(CAPITALS, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
