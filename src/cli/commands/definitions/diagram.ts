/** `amends diagram`: Mermaid text of a definition, or of what happened to one run. */
import { SagaDef } from "../../../events/define/saga-def.ts";
import { flowDiagram, flowRunDiagram } from "../../../events/diagram.ts";
import { sagaDiagram } from "../../../sagas/view/definition-diagram.ts";
import { SOURCE, withApi, type Api } from "../../source/api.ts";
import { command, text, type Command } from "../../program/command.ts";
import { Trouble } from "../../program/failure.ts";
import { find } from "../../source/find.ts";
import { findConfig, loadConfig } from "../../config/load-config.ts";
import { JSON_OUT } from "../../program/shared-options.ts";
import { ink } from "../../terminal/ink.ts";
import type { AmendsConfig } from "../../config/config.ts";

export const diagram: Command = command({
  name: "diagram",
  group: "Look",
  summary: "Mermaid text of a saga's definition, or of what happened to one run.",
  args: [
    { name: "NAME|ID", summary: "A saga or event saga of the config, or the id of a run.", required: true },
  ],
  options: {
    ...SOURCE,
    as: text("FORM", "Default: sequence.", ["sequence", "state"]),
    ...JSON_OUT,
  },
  examples: [
    ["amends diagram place-order", "the definition, with its way back"],
    ["amends diagram order-1 --as state > order-1.mmd", "the way that one saga took"],
  ],
  run: async ({ args, options, output, world }) => {
    const name = args[0] as string;
    const form = options.as === "state" ? "state" : "sequence";
    const isRemote = options.console !== undefined || (world.env["AMENDS_CONSOLE"] ?? "") !== "";
    const file = isRemote && options.config === undefined ? undefined : findConfig(world.cwd, options.config);
    const config = file === undefined ? undefined : (await loadConfig(file, world.cwd)).config;
    const mermaid =
      ofDefinition(config, name, form) ?? (await withApi(options, world, (api) => ofRun(api, name, form)));
    output.document({ name, form, mermaid });
    for (const line of mermaid.trimEnd().split("\n")) output.say(ink`${line}`);
    return 0;
  },
});

function ofDefinition(
  config: AmendsConfig | undefined,
  name: string,
  form: "sequence" | "state",
): string | undefined {
  const sagas = (config?.sagas ?? []).filter((saga) => saga.name === name);
  // Of several versions the newest is what new sagas begin with.
  const newest = sagas.toSorted((a, b) => b.version - a.version)[0];
  if (newest) return sagaDiagram(newest, form);
  const events = config?.events ?? [];
  const flow = ("define" in events ? events.define : events).find((one) => one.name === name);
  return flow instanceof SagaDef ? flowDiagram(flow) : undefined;
}

async function ofRun(api: Api, id: string, form: "sequence" | "state"): Promise<string> {
  const { kind, detail } = await find(api, id, undefined);
  if (kind === "saga") return detail.mermaid[form];
  const view = kind === "flow" ? await api.local?.amends.events.inspect(id) : undefined;
  if (view) return flowRunDiagram(view);
  throw new Trouble(
    "NOT_SUPPORTED",
    `There is no picture of a ${kind}${api.local ? "" : " of a console elsewhere"}.`,
    `amends show ${id} tells what happened.`,
  );
}
