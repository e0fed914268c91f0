/** From the words of a command line to an exit code. Whatever goes wrong ends here, as a message. */
import type { Command } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { readArguments } from "./arguments.ts";
import { failureOf, UsageError, without, type Failure } from "./failure.ts";
import { commandHelp, overviewHelp } from "./help.ts";
import { ink, paint } from "../terminal/ink.ts";
import { nearest } from "./nearest.ts";
import { Output } from "../terminal/output.ts";
import { secretsOf } from "./secrets.ts";
import { stackText } from "../terminal/stack.ts";
import { ownVersion } from "./version.ts";
import { visible } from "../terminal/visible.ts";
import type { ExitCode, World } from "./world.ts";

export async function run(argv: readonly string[], world: World): Promise<ExitCode> {
  try {
    return await dispatch(argv, world);
  } catch (error) {
    return tell(failureOf(error), error, argv, world);
  }
}

async function dispatch(argv: readonly string[], world: World): Promise<ExitCode> {
  const [name, ...rest] = argv;
  if (name === undefined || name === "--help" || name === "-h") return overview(name !== undefined, world);
  if (name === "--version" || name === "-v") return print(world, ownVersion());
  if (name === "help") {
    const [about] = rest;
    return about === undefined ? overview(true, world) : print(world, commandHelp(find(about)));
  }
  const command = find(name);
  if (asksForHelp(rest)) return print(world, commandHelp(command));
  const { args, options } = readArguments(command, rest);
  const output = new Output(world, options["json"] === true);
  return command.run({ args, options: options as never, world, output });
}

function asksForHelp(rest: readonly string[]): boolean {
  const end = rest.indexOf("--");
  const own = end < 0 ? rest : rest.slice(0, end);
  return own.includes("--help") || own.includes("-h");
}

function overview(isAsked: boolean, world: World): ExitCode {
  const text = `${overviewHelp(COMMANDS, ownVersion())}\n`;
  if (isAsked) world.out(text);
  else world.err(text);
  return isAsked ? 0 : 2;
}

function print(world: World, text: string): ExitCode {
  world.out(`${text}\n`);
  return 0;
}

function find(name: string): Command {
  const found = COMMANDS.find((command) => command.name === name);
  if (found) return found;
  if (name.startsWith("-")) throw new UsageError(`Name a command before its options: amends COMMAND ${name}`);
  const near = nearest(
    name,
    COMMANDS.map((command) => command.name),
  );
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new UsageError(`There is no command ${JSON.stringify(name)}.${hint}`);
}

function tell(failure: Failure, error: unknown, argv: readonly string[], world: World): ExitCode {
  const secrets = secretsOf(argv, world.env);
  const { exit, code, advice } = failure;
  const message = without(secrets, failure.message);
  const output = new Output(world, argv.includes("--json"));
  if (output.isJson) output.document({ error: { code, message, ...(advice !== undefined && { advice }) } });
  output.note(ink`${paint("red", exit === 2 ? "usage:" : "error:")} ${message}`);
  if (advice !== undefined) output.note(ink`${paint("dim", "       ")}${without(secrets, advice)}`);
  if (world.env["AMENDS_DEBUG"]) {
    const stack = without(secrets, stackText(error));
    for (const line of stack.split("\n")) world.err(`${visible(line)}\n`);
  }
  return exit;
}
