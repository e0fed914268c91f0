/**
 * Which databases the tests run on: `AMENDS_DATABASES=sqlite` leaves PostgreSQL out, and no server is started then.
 * Default: all. What is left out is printed at the start of the run, and its tests are counted as skipped.
 */
export type DatabaseName = "postgres" | "sqlite";

const ALL: readonly DatabaseName[] = ["postgres", "sqlite"];

export const chosenDatabases: readonly DatabaseName[] = readChoice(process.env["AMENDS_DATABASES"]);

export const leftOutDatabases: readonly DatabaseName[] = ALL.filter(
  (name) => !chosenDatabases.includes(name),
);

export function readChoice(text: string | undefined): readonly DatabaseName[] {
  if (text === undefined || text === "") return ALL;
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.filter((name) => !ALL.some((known) => known === name));
  if (unknown.length > 0)
    throw new Error(
      `AMENDS_DATABASES names ${unknown.join(", ")}. Use ${ALL.join(", ")} or both with a comma between them.`,
    );
  return ALL.filter((name) => names.includes(name));
}
