/**
 * The list of steps that a saga began with. It is stored with the saga, so that a later definition can be held
 * against it: a saga never runs other steps than those it began with, and never loses an undo silently.
 */
import { AmendsError } from "../errors.ts";
import { groupChange, groupText, readGroup, type Group } from "./group.ts";
import { readWait, waitText, waitChange, type Wait } from "./wait.ts";

/** One step of a stored plan. */
export interface PlannedStep {
  /** The name of the step. */
  readonly name: string;
  /** The step has an undo. */
  readonly undo: boolean;
  /** After this step the saga only goes forward. */
  readonly pivot: boolean;
  /** Undo it also when its act answered with Err. */
  readonly undoOnErr: boolean;
  /** Its effects commit together with its checkpoint: it is never in doubt. */
  readonly atomic: boolean;
  /** It does nothing but wait, for this. */
  readonly wait?: Wait | undefined;
  /** It acts at the same time as the other steps of this group. */
  readonly group?: Group | undefined;
  /** The fallback: the step right behind it, which takes its place if it fails. */
  readonly fallback?: string | undefined;
  /** The step whose fallback this is. It stands right before, and the fallback is called only if it failed. */
  readonly instead?: string | undefined;
}

/** The steps that a saga began with, in order, as they are stored with it. */
export type Plan = readonly PlannedStep[];

/** The properties of a step that one sign stands for. */
type Flag = "undo" | "pivot" | "undoOnErr" | "atomic";

const FLAGS: readonly (readonly [Flag, string])[] = [
  ["undo", "~"],
  ["pivot", "!"],
  ["undoOnErr", "?"],
  ["atomic", "="],
];

/** Stands behind a fallback's own signs. It is none of them: no saga begins with a fallback. */
const FALLBACK = "|";

export const PLAN_SIGNS: string = FLAGS.map(([, sign]) => sign).join("");

/**
 * The text of a plan that is not recorded yet: the saga was started by a reference, and its first claim records the plan. No
 * step can have this name. A saga that was written through the storage contract has an empty text, and never gets a plan.
 */
export const UNRECORDED_PLAN = "?";

/** Every saga of a definition has the same plan: its text is made once. */
const texts = new WeakMap<Plan, string>();

/**
 * `reserve~ charge~ charge-elsewhere~| approval:approved/60000 ship! mail:&news letter:&news`: short, and readable in a
 * database shell.
 */
export function encodePlan(plan: Plan): string {
  let text = texts.get(plan);
  if (text === undefined) texts.set(plan, (text = write(plan)));
  return text;
}

function write(plan: Plan): string {
  return plan
    .map((step) => {
      const signs = FLAGS.map(([flag, sign]) => (step[flag] ? sign : "")).join("");
      const branch = step.instead === undefined ? "" : FALLBACK;
      const rest = step.wait ? waitText(step.wait) : step.group ? groupText(step.group) : "";
      return step.name + signs + branch + rest;
    })
    .join(" ");
}

export function decodePlan(text: string): Plan {
  const steps: PlannedStep[] = [];
  if (text === "" || text === UNRECORDED_PLAN) return steps;
  for (const word of text.split(" ")) {
    const match = /^([^~!?=|:/+]+)([~!?=]*)(\|?)(.*)$/.exec(word);
    const group = readGroup(match?.[4] ?? "");
    const wait = group ? undefined : readWait(match?.[4] ?? "");
    const isFallback = match?.[3] === FALLBACK;
    const before = isFallback ? steps.pop() : undefined;
    // It stands behind a step that acts, and acts itself; none of the two is in a group.
    const isMisplaced =
      isFallback && (!before || before.wait || before.group || before.instead !== undefined || wait || group);
    if (!match || wait === "unreadable" || isMisplaced)
      throw new AmendsError("BAD_DEFINITION", `The recorded list of steps cannot be read: ${word}.`);
    const has = (sign: string): boolean => (match[2] as string).includes(sign);
    const name = match[1] as string;
    if (before) steps.push({ ...before, fallback: name });
    steps.push({
      name,
      undo: has("~"),
      pivot: has("!"),
      undoOnErr: has("?"),
      atomic: has("="),
      ...(wait && { wait }),
      ...(group && { group }),
      ...(before && { instead: before.name }),
    });
  }
  return steps;
}

/** Why a definition cannot go on with a recorded plan, in words; undefined if it can. */
export function misfit(recorded: Plan, defined: Plan): string | undefined {
  const place = new Map(defined.map((step, index) => [step.name, index]));
  const differences: string[] = [];
  let last = -1;
  for (const step of recorded) {
    const index = place.get(step.name);
    if (index === undefined) {
      differences.push(`step ${step.name} is missing`);
      continue;
    }
    if (index < last) differences.push(`step ${step.name} was moved`);
    last = Math.max(last, index);
    const now = defined[index] as PlannedStep;
    if (step.undo && !now.undo) differences.push(`step ${step.name} lost its undo`);
    if (step.pivot !== now.pivot) {
      differences.push(`step ${step.name} ${now.pivot ? "became" : "is no longer"} the pivot`);
    }
    if (step.atomic !== now.atomic) {
      differences.push(`step ${step.name} ${now.atomic ? "became" : "is no longer"} transactional`);
    }
    if (step.instead !== now.instead) {
      const [was, is] = [step.instead, now.instead];
      differences.push(
        `step ${step.name} ${is === undefined ? `is no longer the fallback of ${was}` : `became the fallback of ${is}`}`,
      );
    }
    for (const change of [waitChange(step.wait, now.wait), groupChange(step.group, now.group)])
      if (change !== undefined) differences.push(`step ${step.name} ${change}`);
  }
  return differences.length > 0 ? differences.join("; ") : undefined;
}
