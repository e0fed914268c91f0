/** Compares the transaction that a step or a handler asks for with what the database offers. */
import type { Database } from "../../storage/database.ts";

/**
 * The kind of transaction that a step runs in: `transaction` of `amends/postgres` or `amends/sqlite`, or what the adapter of
 * your client makes, such as `drizzle(db)`.
 */
export interface TransactionKind<Tx> {
  /** The database that it is for. */
  readonly dialect: "postgres" | "sqlite";
  /** The client whose transactions they are, such as `drizzle`. Undefined: the database's own driver. */
  readonly client?: string;
  /** Only for the compiler: the type of the open transaction. */
  readonly tx?: Tx;
}

/** The part of a database that says whose transactions it gives to application code. */
export type TransactionOffer = Pick<Database, "client"> & {
  readonly dialect: Pick<Database["dialect"], "name">;
};

/** What is wrong, as the end of a sentence; undefined if the database offers such a transaction. */
export function mismatchOf(
  wanted: TransactionKind<unknown>,
  offer: TransactionOffer | undefined,
): string | undefined {
  const kept = offer?.dialect.name;
  if (wanted.dialect !== kept) {
    const client = wanted.client === undefined ? "" : ` (${wanted.client})`;
    const inTests = `In tests, pass \`transaction\` of amends/${kept ?? ""}: docs/guides/testing.md, "Sagas with steps in your client's transaction".`;
    const has = kept === undefined ? "a storage without transactions." : `${kept}. ${inTests}`;
    return `wants a transaction of ${wanted.dialect}${client}, but Amends has ${has}`;
  }
  if (wanted.client === offer?.client) return undefined;
  const driver = kept === "postgres" ? "pg" : "the SQLite handle";
  const remedy =
    wanted.client === undefined
      ? `Pass the same \`${offer?.client ?? ""}(…)\` as \`transaction\` of the step.`
      : `Give it to \`postgres\` as well: \`joins: ${wanted.client}(…)\`.`;
  return `wants a transaction of ${wanted.client ?? driver}, but Amends joins transactions of ${offer?.client ?? driver}. ${remedy}`;
}
