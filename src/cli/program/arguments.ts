/** Parses the arguments of a command by the command's table. Unknown arguments are refused, not skipped. */
import { parseArgs } from "node:util";
import type { Command, Option } from "./command.ts";
import { UsageError } from "./failure.ts";
import { nearest } from "./nearest.ts";

export interface Given {
  readonly args: readonly (string | undefined)[];
  readonly options: Readonly<Record<string, string | number | boolean | undefined>>;
}

export function readArguments(command: Command, argv: readonly string[]): Given {
  const refuse = (message: string): never => {
    throw new UsageError(message, command.name);
  };
  const known = Object.fromEntries(
    Object.entries(command.options).map(([name, { kind }]) => [
      name,
      { type: kind === "flag" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options: known,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const options: Record<string, string | number | boolean | undefined> = {};
  const args: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") args.push(token.value);
    if (token.kind !== "option") continue;
    const option = Object.hasOwn(command.options, token.name) ? command.options[token.name] : undefined;
    if (!option) return refuse(unknownOption(command, token.rawName));
    if (Object.hasOwn(options, token.name)) return refuse(`Give ${token.rawName} once.`);
    options[token.name] = readOption(option, token, refuse);
  }
  for (const [name, { kind }] of Object.entries(command.options))
    if (kind === "flag" && !Object.hasOwn(options, name)) options[name] = false;
  return { args: readPositionals(command, args, refuse), options };
}

function unknownOption(command: Command, name: string): string {
  const near = nearest(name.replace(/^-+/, ""), Object.keys(command.options));
  const hint = near === undefined ? "" : ` Did you mean --${near}?`;
  return `amends ${command.name} has no option ${name}.${hint}`;
}

interface Token {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function readOption(
  option: Option,
  { rawName, value, inlineValue }: Token,
  refuse: (message: string) => never,
): string | number | boolean {
  if (option.kind === "flag") return value === undefined ? true : refuse(`${rawName} takes no value.`);
  if (value === undefined || value === "")
    return refuse(`${rawName} needs a value: ${rawName} ${option.value}`);
  // Most likely the value was forgotten: taken as it stands, the next option would be lost.
  if (inlineValue !== true && value.startsWith("-"))
    return refuse(`${rawName} needs a value. If ${value} is meant, write ${rawName}=${value}`);
  if (option.kind === "text") {
    if (!option.choices || option.choices.includes(value)) return value;
    return refuse(`${rawName} must be one of ${option.choices.join(", ")}.`);
  }
  const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
  if (number >= option.least && number <= option.most) return number;
  return refuse(`${rawName} must be a whole number of ${option.least} to ${option.most}.`);
}

function readPositionals(
  { name, args: wanted = [] }: Command,
  given: readonly string[],
  refuse: (message: string) => never,
): readonly (string | undefined)[] {
  const missing = wanted.find(({ required }, index) => required && given[index] === undefined);
  if (missing) return refuse(`amends ${name} needs ${missing.name}: ${missing.summary}`);
  const extra = given[wanted.length];
  if (extra !== undefined)
    return refuse(`amends ${name} does not take the argument ${JSON.stringify(extra)}.`);
  return wanted.map((_, index) => given[index]);
}
