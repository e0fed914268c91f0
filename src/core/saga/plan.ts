/**
 * The list of steps that a saga began with. It is stored with the saga, so that a later definition can be held
 * against it: a saga never runs other steps than those it began with, and never loses an undo silently.
 */
import { AmendsError } from "../errors.ts";
import { branchChange, branchText, CHOICE, readBranch, type Branch } from "./steps/branch.ts";
import { childChange, childText, readChild } from "./steps/child.ts";
import { eachChange, eachText, readEach, type Each } from "./steps/each.ts";
import { endText, readEnd, type End } from "./steps/end.ts";
import { groupChange, groupText, readGroup, type Group } from "./steps/group.ts";
import { readRepeat, repeatChange, repeatText, type Repeat } from "./steps/repeat.ts";
import { readWait, waitText, waitChange, type Wait } from "./steps/wait.ts";

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
  /** It acts once for each item of a list. */
  readonly each?: Each | undefined;
  /** It acts in rounds, with a wait between two of them. */
  readonly repeat?: Repeat | undefined;
  /** The name of the saga that it starts, and waits for. */
  readonly child?: string | undefined;
  /** It chooses between the branches behind it, and does nothing else. */
  readonly choice?: boolean | undefined;
  /** It follows the other steps, or their undos: its success is the end of the saga. */
  readonly end?: End | undefined;
  /** It runs only if its branch was chosen. */
  readonly branch?: Branch | undefined;
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
 * `reserve~:*5 large:^ approval:approved/60000@large+ charge~ charge-elsewhere~| ship! mail:&news letter:&news`: short, and
 * readable in a database shell.
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
      const fallback = step.instead === undefined ? "" : FALLBACK;
      return step.name + signs + fallback + kindText(step) + (step.branch ? branchText(step.branch) : "");
    })
    .join(" ");
}

/** What kind of step it is: a step is of one kind. */
function kindText({ wait, group, each, repeat, child, choice, end }: PlannedStep): string {
  if (wait) return waitText(wait);
  if (group) return groupText(group);
  if (each) return eachText(each);
  if (repeat) return repeatText(repeat);
  if (child !== undefined) return childText(child);
  if (end) return endText(end);
  return choice ? CHOICE : "";
}

type Kind = Pick<PlannedStep, "wait" | "group" | "each" | "repeat" | "child" | "choice" | "end">;

function readKind(text: string): Kind | "unreadable" {
  if (text === CHOICE) return { choice: true };
  const [group, each, repeat, child] = [readGroup(text), readEach(text), readRepeat(text), readChild(text)];
  if (group) return { group };
  if (each) return { each };
  if (repeat) return { repeat };
  if (child !== undefined) return { child };
  const end = readEnd(text);
  if (end) return { end };
  const wait = readWait(text);
  if (wait === "unreadable") return wait;
  return wait ? { wait } : {};
}

/** The name, the signs, the sign of a fallback, the kind and the branch of a step. */
const WORD = /^([^~!?=|:/+@]+)([~!?=]*)(\|?)([^@]*)(?:@(.+))?$/;

export function decodePlan(text: string): Plan {
  const steps: PlannedStep[] = [];
  if (text === "" || text === UNRECORDED_PLAN) return steps;
  for (const word of text.split(" ")) {
    const [, name, signs, fallback, rest, branched] = WORD.exec(word) ?? [];
    const kind = readKind(rest ?? "");
    const branch = branched === undefined ? undefined : readBranch(branched);
    const isFallback = fallback === FALLBACK;
    const before = isFallback ? steps.pop() : undefined;
    // It stands behind a step that acts, and acts itself; both are plain steps.
    const isMisplaced =
      isFallback && (!before || kindText(before) !== "" || before.instead !== undefined || rest !== "");
    const isStray =
      branched !== undefined && !steps.some((step) => step.choice && step.name === branch?.choice);
    if (name === undefined || kind === "unreadable" || isMisplaced || isStray)
      throw new AmendsError("BAD_DEFINITION", `The recorded list of steps cannot be read: ${word}.`);
    const has = (sign: string): boolean => (signs as string).includes(sign);
    if (before) steps.push({ ...before, fallback: name });
    steps.push({
      name,
      undo: has("~"),
      pivot: has("!"),
      undoOnErr: has("?"),
      atomic: has("="),
      ...kind,
      ...(branch && { branch }),
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
    for (const change of changesOf(step, now)) differences.push(`step ${step.name} ${change}`);
  }
  return differences.length > 0 ? differences.join("; ") : undefined;
}

/** How the kind and the branch of a step differ from the recorded ones, in words. */
function changesOf(recorded: PlannedStep, now: PlannedStep): readonly string[] {
  const changes = [
    waitChange(recorded.wait, now.wait),
    groupChange(recorded.group, now.group),
    eachChange(recorded.each, now.each),
    repeatChange(recorded.repeat, now.repeat),
    childChange(recorded.child, now.child),
    choiceChange(recorded.choice === true, now.choice === true),
    branchChange(recorded.branch, now.branch),
  ];
  return changes.filter((change) => change !== undefined);
}

function choiceChange(recorded: boolean, now: boolean): string | undefined {
  if (recorded === now) return undefined;
  return now ? "became a choice" : "is no longer a choice";
}
