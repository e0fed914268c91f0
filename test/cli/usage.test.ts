/** How the command line is called, and what it says to whoever calls it wrongly. */
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../src/cli/program/commands.ts";
import { cli } from "./support/cli.ts";

/** Those that the specification names. */
const NAMED =
  "dev worker console migrate status list show stream cancel retry requeue resolve resend dismiss enable unsubscribe diagram doctor init".split(
    " ",
  );

it("[P-03] there is every command that the specification names, each once", () => {
  const names = COMMANDS.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  expect(NAMED.filter((name) => !names.includes(name))).toEqual([]);
});

describe.each(COMMANDS.map((command) => [command.name, command] as const))("%s", (name, command) => {
  it("[P-03] has help with its options, examples and exit codes", async () => {
    const { code, out, err } = await cli([name, "--help"]);
    expect([code, err]).toEqual([0, ""]);
    expect(await cli(["help", name])).toEqual({ code: 0, out, err: "" });
    expect(out).toContain(`Usage: amends ${name}`);
    for (const option of Object.keys(command.options)) expect(out).toContain(`--${option}`);
    for (const [line] of command.examples) expect(out).toContain(line);
    expect(command.examples.length).toBeGreaterThan(0);
    expect(out).toMatch(/Exit codes:\n {2}0 {2}done\n/);
    expect(command.options).toHaveProperty("json");
  });

  it("[P-03] refuses an option that it does not have, and what is too much", async () => {
    const unknown = await cli([name, "--jsno"]);
    expect([unknown.code, unknown.out]).toEqual([2, ""]);
    expect(unknown.err).toContain(`amends ${name} has no option --jsno. Did you mean --json?`);
    const args = (command.args ?? []).map(() => "x");
    const extra = await cli([name, ...args, "y\u001b[2J"]);
    expect([extra.code, extra.err.includes("\u001b")]).toEqual([2, false]);
  });
});

it("[P-03] a command that is misspelt is guessed, and never run", async () => {
  for (const [given, meant] of [
    ["lits", "list"],
    ["statsu", "status"],
    ["mirgate", "migrate"],
    ["Show", "show"],
    ["requeu", "requeue"],
  ] as const) {
    const { code, err } = await cli([given]);
    expect([given, code]).toEqual([given, 2]);
    expect(err).toContain(`Did you mean ${meant}?`);
  }
  const { code, err } = await cli(["frobnicate\n\u001b[31m"]);
  expect([code, err.includes("\u001b"), err.includes("Did you mean")]).toEqual([2, false, false]);
});

it("[P-03] without a command it shows the overview, and ends as called wrongly", async () => {
  const bare = await cli([]);
  expect([bare.code, bare.out]).toEqual([2, ""]);
  const asked = await cli(["--help"]);
  expect([asked.code, asked.out]).toEqual([0, bare.err]);
  for (const { name, summary } of COMMANDS)
    expect(asked.out).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, "m"));
  expect((await cli(["--version"])).out).toMatch(/^\d+\.\d+\.\d+\n$/);
});

it("[P-03] options are read strictly: values, numbers, choices, and each once", async () => {
  const refused = async (argv: readonly string[], message: string): Promise<void> => {
    const { code, err } = await cli(argv);
    expect([argv.join(" "), code]).toEqual([argv.join(" "), 2]);
    expect(err).toContain(message);
  };
  await refused(["list", "--limit", "0"], "--limit must be a whole number of 1 to 1000.");
  await refused(["list", "--limit", "1e2"], "--limit must be a whole number");
  await refused(["list", "--status", "--json"], "--status needs a value");
  await refused(["list", "--status"], "--status needs a value");
  await refused(["list", "--json=yes"], "--json takes no value.");
  await refused(["list", "--limit", "1", "--limit", "2"], "Give --limit once.");
  await refused(["resolve", "x", "--as", "DONE"], "--as must be one of COMPLETED, FAILED.");
  await refused(["show"], "amends show needs ID");
  await refused(["worker", "--poll", "often"], "--poll must be milliseconds or a text such as");
  await refused(["list"], "Which database?");
  await refused(["list", "--console", "http://x", "--database", "y"], "not both");
  await refused(["list", "--console", "127.0.0.1:7007"], "--console is the address of a console");
  await refused(["list", "--console", "http://127.0.0.1:1"], "A console asks for a token");
});
