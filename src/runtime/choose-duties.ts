/** Which duties a worker drives: all but the optional ones, or those that its `only` names. */
import { AmendsError } from "../core/errors.ts";
import type { Duty } from "./duty.ts";

type Named = Pick<Duty, "name" | "isOptional">;

/** `webhooks` names every duty of webhooks that is not optional; `webhooks:sender` names that one. */
export function chooseDuties<D extends Named>(
  duties: readonly D[],
  only: readonly string[] | undefined,
): readonly D[] {
  if (only === undefined) return duties.filter(({ isOptional }) => isOptional !== true);
  const unknown = only.filter((name) => !duties.some((duty) => isMeant(duty, name)));
  if (unknown.length > 0 || only.length === 0) {
    const names = [...new Set(duties.flatMap(({ name }) => [partOf(name), name]))].toSorted();
    const what =
      only.length === 0 ? "`only` is empty" : `This Amends has no duty called ${unknown.join(", ")}`;
    throw new AmendsError("BAD_OPTION", `${what}. A worker's \`only\` names some of: ${names.join(", ")}.`, {
      field: "only",
    });
  }
  return duties.filter((duty) => only.some((name) => isMeant(duty, name)));
}

function isMeant({ name, isOptional }: Named, given: string): boolean {
  return name === given || (partOf(name) === given && isOptional !== true);
}

function partOf(name: string): string {
  return name.split(":", 1)[0] as string;
}
