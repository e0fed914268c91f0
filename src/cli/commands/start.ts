/** `amends start`: one saga of the config, from the command line. */
import type { Duration } from "../../core/duration.ts";
import { parseAttributes } from "../../core/start/attribute-pairs.ts";
import { PRIORITY_MAX } from "../../core/start/controls.ts";
import type { StartOptions } from "../../operate/amends-options.ts";
import { checkSchema } from "../../storage/migrations/migrate.ts";
import { command, number, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { ink, paint } from "../terminal/ink.ts";
import { nearest } from "../program/nearest.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";

export const start: Command = command({
  name: "start",
  group: "Steer",
  summary: "Starts a saga of the config. A second start with the same id and input finds the same saga.",
  args: [
    { name: "NAME", summary: "The saga's name.", required: true },
    { name: "INPUT", summary: "Its input as JSON. Default: {}.", required: false },
  ],
  options: {
    ...DATABASE,
    id: text("ID", "Its id. Default: a new one."),
    delay: text("TIME", "Runs it after this time, such as 10m or 2h."),
    "run-at": text("TIME", "Runs it at this time, such as 2026-11-17T03:00:00Z."),
    priority: number("N", "A higher one is claimed first. Default: 0.", 0, PRIORITY_MAX),
    attributes: text("A=X,B=Y", "Attributes to find it by, such as tenant=acme,tier=2."),
    ...JSON_OUT,
  },
  examples: [
    [
      `amends start place-order '{"sku":"tea"}' --id order-1`,
      "a worker runs it: amends dev, amends worker, or your own",
    ],
    [
      `amends start place-order '{"sku":"tea"}' --delay 2h --attributes tenant=acme`,
      "later, and found by its tenant",
    ],
    [`amends start place-order '{"sku":"tea"}' --json | jq -r .id | xargs amends stream`, "and follow it"],
  ],
  run: async ({ args, options, output, world }) => {
    const input = readInput(args[1] ?? "{}");
    const given = readStart(options);
    const local = await openLocal(options, world, { definitions: true });
    try {
      await checkSchema(local.database);
      const saga = choose(local.config?.sagas ?? [], args[0] as string);
      const run = await local.amends.start(saga, input, given);
      output.document({ id: run.id, saga: saga.name, created: run.created });
      const isLater = given.delay !== undefined || given.runAt !== undefined;
      const word = run.created ? (isLater ? "scheduled" : "started") : "found";
      output.say(ink`${paint("green", word)}: saga ${run.id}`);
      output.say(paint("dim", `A worker runs it. To follow it: amends stream ${run.id}`));
      return 0;
    } finally {
      await local.amends.close();
    }
  },
});

function readInput(given: string): unknown {
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new UsageError(`The input must be JSON, such as '{"sku":"tea"}'.`, "start");
  }
}

interface GivenOptions {
  readonly id: string | undefined;
  readonly delay: string | undefined;
  readonly "run-at": string | undefined;
  readonly priority: number | undefined;
  readonly attributes: string | undefined;
}

function readStart(options: GivenOptions): StartOptions<never> {
  const { id, delay, "run-at": runAt, priority, attributes } = options;
  return {
    ...(id !== undefined && { id }),
    // Which texts are durations is said by the engine.
    ...(delay !== undefined && { delay: delay as Duration }),
    ...(runAt !== undefined && { runAt: readTime(runAt) }),
    ...(priority !== undefined && { priority }),
    ...(attributes !== undefined && { attributes: parseAttributes(attributes, "--attributes") }),
  };
}

function readTime(given: string): Date {
  const ms = Date.parse(given);
  if (Number.isFinite(ms)) return new Date(ms);
  throw new UsageError(
    `--run-at ${JSON.stringify(given)} is no time. Write it like 2026-11-17T03:00:00Z.`,
    "start",
  );
}

/** Of several versions the newest. */
function choose(sagas: readonly AnySaga[], name: string): AnySaga {
  const [newest] = sagas.filter((saga) => saga.name === name).toSorted((a, b) => b.version - a.version);
  if (newest) return newest;
  const names = [...new Set(sagas.map((saga) => saga.name))];
  const near = nearest(name, names);
  const hint = near === undefined ? `There are: ${names.join(", ") || "none"}.` : `Did you mean ${near}?`;
  throw new Trouble("UNKNOWN_SAGA", `The config has no saga ${JSON.stringify(name)}. ${hint}`);
}
