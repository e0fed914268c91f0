/** `amends signal`: sends a signal of the config to one saga. */
import { checkSchema } from "../../storage/migrations/migrate.ts";
import type { AnySaga } from "../../sagas/define/definition.ts";
import type { AnySignal } from "../../sagas/define/signal.ts";
import { command, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { nearest } from "../program/nearest.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal } from "../source/source.ts";
import { ink, paint } from "../terminal/ink.ts";

export const signal: Command = command({
  name: "signal",
  group: "Steer",
  summary: "Sends a signal to a saga that waits for it now or later.",
  about: "The payload is checked with the signal's schema, so the config must have the saga.",
  args: [
    { name: "ID", summary: "The id of a saga.", required: true },
    { name: "NAME", summary: "The signal's name.", required: true },
    { name: "PAYLOAD", summary: "Its payload as JSON. Default: {}.", required: false },
  ],
  options: {
    ...DATABASE,
    "signal-id": text("ID", "The same id again sends nothing. Default: a new one."),
    ...JSON_OUT,
  },
  examples: [[`amends signal order-1 paid '{"cents":250}' --signal-id tx-17`, "sent once, however often"]],
  run: async ({ args, options, output, world }) => {
    const [id, name] = args as readonly [string, string];
    const payload = readPayload(args[2] ?? "{}");
    const local = await openLocal(options, world, { definitions: true });
    try {
      await checkSchema(local.database);
      const view = await local.amends.inspect(id);
      const known = local.config?.sagas ?? [];
      const own = known.filter((saga) => saga.name === view?.name && saga.version === view.version);
      const chosen = choose(view ? own : known, name);
      const signalId = options["signal-id"];
      const sent = await local.amends.signal(
        id,
        chosen,
        payload,
        signalId === undefined ? {} : { id: signalId },
      );
      output.document({ id, signal: name, sent });
      output.say(ink`${paint("green", sent ? "sent" : "already sent")}: signal ${name} to saga ${id}`);
      return 0;
    } finally {
      await local.amends.close();
    }
  },
});

function readPayload(given: string): unknown {
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new UsageError(`The payload must be JSON, such as '{"cents":250}'.`, "signal");
  }
}

function choose(sagas: readonly AnySaga[], name: string): AnySignal {
  const signals = sagas.flatMap(({ steps }) => steps.flatMap((step) => step.signals ?? []));
  const found = signals.find((one) => one.name === name);
  if (found) return found;
  const names = [...new Set(signals.map((one) => one.name))];
  const near = nearest(name, names);
  const hint = near === undefined ? `There are: ${names.join(", ") || "none"}.` : `Did you mean ${near}?`;
  throw new Trouble(
    "UNKNOWN_SIGNAL",
    `No step of this saga in the config waits for a signal ${JSON.stringify(name)}. ${hint}`,
  );
}
