/** Attributes of a saga: a few small values, fixed at its start, by which it is found again. */
import { AmendsError } from "../errors.ts";
import { checkName, isName, isWellFormed } from "../identity.ts";

/** The value of an attribute: a text of at most 255 characters, a finite number, or a boolean. 1 and "1" differ. */
export type AttributeValue = string | number | boolean;

/** The attributes of a saga, by name: at most 16. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

const COUNT_MAX = 16;
const TEXT_MAX = 255;

/** The names that a definition declares. */
export function declaredAttributes(given: unknown, where: string): readonly string[] {
  const bad = (why: string): never => {
    throw new AmendsError("BAD_DEFINITION", `${where}: \`attributes\` ${why}.`);
  };
  if (!Array.isArray(given)) return bad("must be a list of names");
  if (given.length > COUNT_MAX) return bad(`has at most ${COUNT_MAX} names`);
  const names = given.map((name: unknown) => checkName(name, `${where}: an attribute's name`));
  if (new Set(names).size < names.length) return bad("names one attribute twice");
  return names;
}

/** The attributes as they are stored, ordered by name; undefined if there are none. `declared` is undefined if any name is allowed. */
export function readAttributes(
  given: unknown,
  declared: readonly string[] | undefined,
  where: string,
): Attributes | undefined {
  if (given === undefined) return undefined;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw refused(where, '`attributes` must be an object, such as { tenant: "acme" }');
  const all = Object.entries(given);
  if (all.length > COUNT_MAX)
    throw refused(where, `a saga has at most ${COUNT_MAX} attributes (there are ${all.length})`);
  for (const [name, value] of all) {
    checkAttributeName(name, declared, where);
    attributeText(value, name, where);
  }
  if (all.length === 0) return undefined;
  return Object.fromEntries(all.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

export function checkAttributeName(
  name: unknown,
  declared: readonly string[] | undefined,
  where: string,
): void {
  if (!isName(name))
    throw refused(
      where,
      `${JSON.stringify(String(name).slice(0, TEXT_MAX))} cannot be the name of an attribute: it must be letters, digits, dots, dashes or underscores, beginning with a letter`,
    );
  if (declared === undefined || declared.includes(name)) return;
  const there = declared.length === 0 ? "The saga declares none" : `There are: ${declared.join(", ")}`;
  throw refused(where, `there is no attribute named ${name}. ${there}`);
}

/** The value as it is stored and compared: as JSON, so that 1 is not "1". */
export function attributeText(value: unknown, name: string, where: string): string {
  const isText = typeof value === "string" && value.length <= TEXT_MAX && !value.includes("\0");
  const isScalar = typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value));
  if (isScalar || (isText && isWellFormed(value))) return JSON.stringify(value);
  throw refused(
    where,
    `attribute ${name} must be a well-formed text of at most ${TEXT_MAX} characters without NUL, a finite number or a boolean`,
  );
}

function refused(where: string, why: string): AmendsError {
  return new AmendsError("BAD_OPTION", `${where}: ${why}. Nothing was written.`, { field: "attributes" });
}
