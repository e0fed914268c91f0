/** The help and the reference in docs/, made from the table of commands. */
import type { Argument, Command, Group, Option } from "./command.ts";

const GROUPS: readonly Group[] = ["Set up", "Run", "Look", "Steer"];

const WHERE = `Where it looks:
  --console URL, or AMENDS_CONSOLE    a running console, with --token or AMENDS_TOKEN
  --database URL|FILE                 a PostgreSQL URL, or a SQLite file
  amends.config.{ts,mts,js,mjs}       in this folder, or --config FILE
  DATABASE_URL                        if none of the above is given`;

const EXITS = `Exit codes:
  0  done
  1  an error
  2  invalid usage
  3  done, and something needs attention`;

const ENVIRONMENT = `Environment:
  NO_COLOR      no colours
  AMENDS_DEBUG  shows the stack of an error`;

export function overviewHelp(commands: readonly Command[], version: string): string {
  const listed = GROUPS.map((group) => {
    const lines = commands
      .filter((command) => command.group === group)
      .map(({ name, summary }) => `  ${name.padEnd(10)} ${summary}`);
    return [group, ...lines].join("\n");
  });
  return [
    `amends ${version}: sagas that finish, or make amends.`,
    "Usage: amends COMMAND [options]",
    ...listed,
    WHERE,
    EXITS,
    ENVIRONMENT,
    "amends COMMAND --help tells more, with examples.",
  ].join("\n\n");
}

export function commandHelp(command: Command): string {
  const { summary, about, args = [], examples } = command;
  const options: readonly (readonly [string, Option])[] = [
    ...Object.entries(command.options),
    ["help", { kind: "flag", summary: "Shows this." }],
  ];
  const rows: readonly (readonly [string, string])[] = options.map(([name, option]) => [
    optionUsage(name, option),
    summaryOf(option),
  ]);
  return [
    summary,
    `Usage: ${usageOf(command)}`,
    ...(about === undefined ? [] : [about]),
    ...(args.length === 0
      ? []
      : [
          section(
            "Arguments",
            args.map(({ name, summary: what }) => [name, what]),
          ),
        ]),
    section("Options", rows),
    section("Examples", examples),
    EXITS,
  ].join("\n\n");
}

export function usageOf({ name, args = [] }: Command): string {
  return ["amends", name, ...args.map(argumentUsage), "[options]"].join(" ");
}

function argumentUsage({ name, required }: Argument): string {
  return required ? name : `[${name}]`;
}

function optionUsage(name: string, option: Option): string {
  return option.kind === "flag" ? `--${name}` : `--${name} ${option.value}`;
}

function summaryOf(option: Option): string {
  return option.kind === "text" && option.choices
    ? `${option.summary} One of ${option.choices.join(", ")}.`
    : option.summary;
}

function section(title: string, rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length));
  return [`${title}:`, ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`)].join("\n");
}

/** Every command with its help, as Markdown. */
export function reference(commands: readonly Command[]): string {
  return commands
    .map((command) => `### amends ${command.name}\n\n\`\`\`text\n${commandHelp(command)}\n\`\`\`\n`)
    .join("\n");
}
