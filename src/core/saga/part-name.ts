/**
 * Steps that call their act several times, once for each item of a list or once a round, keep these calls apart by a number
 * behind the step's name: `reserve[3]`. No name of a step has a bracket, so the log needs no other column for it.
 */

/** The name of one item, or of one round, in the log. */
export function partName(step: string, number: number): string {
  return `${step}[${number}]`;
}

/** A name in the log: the step, and the number of its item or round, if it names one. */
export interface Part {
  readonly step: string;
  readonly number: number | undefined;
}

const CLOSING_BRACKET = 93;

/** Most names are names of steps: their last character says so. */
export function isPart(name: string): boolean {
  return name.charCodeAt(name.length - 1) === CLOSING_BRACKET;
}

export function partOf(name: string): Part {
  if (!isPart(name)) return { step: name, number: undefined };
  const at = name.indexOf("[");
  return { step: name.slice(0, at), number: Number(name.slice(at + 1, -1)) };
}

/** The step to which a name in the log belongs. */
export function stepOf(name: string): string {
  return isPart(name) ? name.slice(0, name.indexOf("[")) : name;
}
