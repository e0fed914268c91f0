/**
 * One entry of the table of commands. Parsing, help, the reference in docs/ and the tests that go over every command
 * are made from it, so that none of them can say something else than the others.
 */
import type { Output } from "../terminal/output.ts";
import type { ExitCode, World } from "./world.ts";

export interface TextOption {
  readonly kind: "text";
  /** What stands for the value in the help: `NAME`. */
  readonly value: string;
  readonly summary: string;
  readonly choices?: readonly string[];
}

export interface NumberOption {
  readonly kind: "number";
  readonly value: string;
  readonly summary: string;
  readonly least: number;
  readonly most: number;
}

export interface FlagOption {
  readonly kind: "flag";
  readonly summary: string;
}

export type Option = TextOption | NumberOption | FlagOption;
export type Options = Readonly<Record<string, Option>>;

export type Values<O extends Options> = {
  readonly [K in keyof O]: O[K] extends FlagOption
    ? boolean
    : O[K] extends NumberOption
      ? number | undefined
      : string | undefined;
};

export interface Argument {
  readonly name: string;
  readonly summary: string;
  readonly required: boolean;
}

export interface Call<V> {
  /** In the order of the command's arguments. */
  readonly args: readonly (string | undefined)[];
  readonly options: V;
  readonly world: World;
  readonly output: Output;
}

export type Group = "Set up" | "Run" | "Look" | "Steer";

interface Shape<O extends Options> {
  readonly name: string;
  readonly group: Group;
  readonly summary: string;
  /** Further lines of the help: what it does beyond its summary. */
  readonly about?: string;
  readonly args?: readonly Argument[];
  readonly options: O;
  readonly examples: readonly (readonly [line: string, what: string])[];
  run(call: Call<Values<O>>): Promise<ExitCode>;
}

export type Command = Shape<Options>;

/** Keeps what each option is for the command itself, and forgets it for the table. */
export function command<const O extends Options>(shape: Shape<O>): Command {
  return shape;
}

export function text(value: string, summary: string, choices?: readonly string[]): TextOption {
  return { kind: "text", value, summary, ...(choices && { choices }) };
}

export function number(value: string, summary: string, least: number, most: number): NumberOption {
  return { kind: "number", value, summary, least, most };
}

export function flag(summary: string): FlagOption {
  return { kind: "flag", summary };
}
