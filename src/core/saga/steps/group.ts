/**
 * Steps that act at the same time. The plan says at each step to which group it belongs and how many of that group may act at
 * once, so a saga keeps its groups when its definition changes.
 */
import { started, type Entry } from "../entry.ts";
import type { Plan } from "../plan.ts";

/** The parallel group of a planned step. */
export interface Group {
  /** The name of the group. */
  readonly name: string;
  /** The most steps of the group that act at once. Undefined: all of them. */
  readonly limit?: number | undefined;
}

/** `:&bookings/2` at each of its steps: no signal has such a name. */
export function groupText({ name, limit }: Group): string {
  return `:&${name}${limit === undefined ? "" : `/${limit}`}`;
}

/** Undefined if this is no group's text. */
export function readGroup(text: string): Group | undefined {
  const match = /^:&([^&:/+$]+)(?:\/([1-9]\d*))?$/.exec(text);
  if (!match) return undefined;
  return { name: match[1] as string, ...(match[2] !== undefined && { limit: Number(match[2]) }) };
}

/** How a step's group differs from the recorded one, in words. Another limit does not: the recorded one holds. */
export function groupChange(recorded: Group | undefined, now: Group | undefined): string | undefined {
  if (recorded?.name === now?.name) return undefined;
  if (!recorded) return `joined group ${now?.name ?? ""}`;
  return now ? `moved from group ${recorded.name} to ${now.name}` : `left group ${recorded.name}`;
}

/** The places of a group's steps, from one of them on: they stand side by side. */
export function membersFrom(plan: Plan, first: number): readonly number[] {
  const name = plan[first]?.group?.name;
  const members: number[] = [];
  for (let index = first; name !== undefined && plan[index]?.group?.name === name; index++)
    members.push(index);
  return members;
}

const ALONE: readonly Entry[] = [];

/** A saga begins with its first step. Where that is one of a group, these begin together with it. */
export function openingLines(plan: Plan): readonly Entry[] {
  const group = plan[0]?.group;
  if (!group) return ALONE;
  return membersFrom(plan, 0)
    .slice(1, group.limit)
    .map((index) => started(plan[index]?.name as string));
}
