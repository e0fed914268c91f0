/** `amends stream`: what changes, as it changes; or one saga until it ends. */
import { setTimeout as pause } from "node:timers/promises";
import type { LiveChange, SagaDetail, TimelineLine } from "../../console/contract.ts";
import { SOURCE, withApi, type Api } from "../source/api.ts";
import { command, type Command } from "../program/command.ts";
import { Trouble } from "../program/failure.ts";
import { find } from "../source/find.ts";
import { ink, paint, type Ink } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { many, state } from "../terminal/words.ts";
import type { ExitCode } from "../program/world.ts";

export const stream: Command = command({
  name: "stream",
  group: "Look",
  summary: "Prints changes as they happen; with an ID, one saga until it ends.",
  about:
    "One saga: ends with 0 if it completed, with 1 if it failed, with 3 if it stalled. With --json, one JSON text per line.",
  args: [{ name: "ID", summary: "The id of a saga.", required: false }],
  options: { ...SOURCE, ...JSON_OUT },
  examples: [
    ["amends stream", "every saga that changes, until Ctrl-C"],
    ["amends stream order-1", "the steps of one saga, until it ends"],
    ["amends stream --json | jq .id", "for a program"],
  ],
  run: async ({ args, options, output, world }) =>
    withApi(options, world, async (api) => {
      const [id] = args;
      return id === undefined ? followAll(api, output, world.stop) : followOne(api, id, output, world.stop);
    }),
});

async function followAll(api: Api, output: Output, stop: AbortSignal): Promise<ExitCode> {
  output.note(paint("dim", `Following ${api.shown}. Ctrl-C ends it.`));
  let attention: number | undefined;
  for await (const { name, data } of api.live("/api/live", stop)) {
    if (name !== "change") continue;
    const change = data as LiveChange;
    for (const saga of change.sagas.toReversed()) {
      output.event({ type: "saga", ...saga });
      output.say(
        ink`${paint("dim", clock(saga.updatedAt))}  ${state(saga.status).sized(12)}  ${saga.saga}  ${saga.id}`,
      );
    }
    if (change.more) output.note(paint("dim", "More sagas changed than are listed here."));
    if (change.attention.value === attention) continue;
    attention = change.attention.value;
    output.event({ type: "attention", at: change.at, count: change.attention });
    if (attention > 0)
      output.say(
        ink`${paint("dim", clock(change.at))}  ${paint("red", `${many(attention, "item")} in attention`)}`,
      );
  }
  return ended(stop);
}

/** How often the saga is read as well: notices before the connection was open are missed. */
const LOOK_MS = 2_000;

async function followOne(api: Api, id: string, output: Output, stop: AbortSignal): Promise<ExitCode> {
  const enough = new AbortController();
  const both = AbortSignal.any([stop, enough.signal]);
  const changes = api.live(`/api/live?saga=${encodeURIComponent(id)}`, both);
  let next = changes.next();
  next.catch(() => undefined);
  try {
    let shown = 0;
    const look = async (): Promise<SagaDetail> => {
      const { detail } = await find(api, id, "saga");
      const saga = detail as SagaDetail;
      for (const line of saga.timeline.slice(shown)) tell(output, line);
      shown = saga.timeline.length;
      return saga;
    };
    let saga = await look();
    while (!isAtRest(saga)) {
      const heard = await Promise.race([next, pause(LOOK_MS, undefined, { ref: false })]);
      if (heard === undefined) {
        saga = await look();
        continue;
      }
      const { done, value } = heard;
      if (done === true) break;
      const { watched = [] } = value.data as Partial<LiveChange>;
      if (value.name === "reset" || watched.some((one) => one.id === id)) saga = await look();
      next = changes.next();
      next.catch(() => undefined);
    }
    if (!isAtRest(saga)) return ended(stop);
    output.event({ type: "end", id: saga.id, status: saga.status, stalled: saga.stalled });
    output.say(ink`${state(saga.status)}${saga.stalled === null ? "" : `: ${saga.stalled}`}`);
    if (saga.status === "STALLED") return 3;
    return saga.status === "COMPLETED" ? 0 : 1;
  } finally {
    enough.abort();
    await changes.return().catch(() => undefined);
  }
}

function isAtRest({ status }: SagaDetail): boolean {
  return ["COMPLETED", "FAILED", "STALLED"].includes(status);
}

function tell(output: Output, line: TimelineLine): void {
  output.event({ type: "line", ...line });
  output.say(ink`${paint("dim", clock(line.at))}  ${lineText(line)}`);
}

function lineText({ kind, name, action, status, note, by }: TimelineLine): Ink {
  const ending = note === null ? "" : `: ${note}`;
  if (kind === "control") return paint("cyan", `◆ ${name}${by === null ? "" : ` by ${by}`}${ending}`);
  const verb = action === "compensate" ? paint("magenta", "undo ") : ink``;
  const word =
    status === "STARTED"
      ? paint("dim", "began")
      : status === "COMPLETED"
        ? paint("green", "done")
        : paint("red", `failed${ending}`);
  return ink`${verb}${name} ${word}`;
}

function clock(instant: string): string {
  return instant.slice(11, 23);
}

/** The end of the connection is a failure only if the server ended it. */
function ended(stop: AbortSignal): ExitCode {
  if (stop.aborted) return 0;
  throw new Trouble(
    "CONSOLE_GONE",
    "The console ended the connection.",
    "Start the console again, then this command.",
  );
}
