/** `amends start`: one saga of the config, from the command line. */
import { checkSchema } from "../../storage/migrations/migrate.ts";
import { command, text, type Command } from "../program/command.ts";
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
  options: { ...DATABASE, id: text("ID", "Its id. Default: a new one."), ...JSON_OUT },
  examples: [
    [
      `amends start place-order '{"sku":"tea"}' --id order-1`,
      "a worker runs it: amends dev, amends worker, or your own",
    ],
    [`amends start place-order '{"sku":"tea"}' --json | jq -r .id | xargs amends stream`, "and follow it"],
  ],
  run: async ({ args, options, output, world }) => {
    const input = readInput(args[1] ?? "{}");
    const local = await openLocal(options, world, { definitions: true });
    try {
      await checkSchema(local.database);
      const saga = choose(local.config?.sagas ?? [], args[0] as string);
      const run = await local.amends.start(saga, input, options.id === undefined ? {} : { id: options.id });
      output.document({ id: run.id, saga: saga.name, created: run.created });
      output.say(ink`${paint("green", run.created ? "started" : "found")}: saga ${run.id}`);
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

/** Of several versions the newest. */
function choose(sagas: readonly AnySaga[], name: string): AnySaga {
  const [newest] = sagas.filter((saga) => saga.name === name).toSorted((a, b) => b.version - a.version);
  if (newest) return newest;
  const names = [...new Set(sagas.map((saga) => saga.name))];
  const near = nearest(name, names);
  const hint = near === undefined ? `There are: ${names.join(", ") || "none"}.` : `Did you mean ${near}?`;
  throw new Trouble("UNKNOWN_SAGA", `The config has no saga ${JSON.stringify(name)}. ${hint}`);
}
