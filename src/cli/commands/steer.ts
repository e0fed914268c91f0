/**
 * The operator actions. An action has the same name here, in the HTTP API and in the console. Each command finds the
 * item of an id and calls the same route as the console's pages, so that a reason is required and the action is
 * recorded before it is carried out.
 */
import type { HandlerDetail, PausedName } from "../../console/contract-parts.ts";
import { SOURCE, withApi, type Api } from "../source/api.ts";
import { command, flag, text, type Command } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { find, KIND, type Kind } from "../source/find.ts";
import { ink, paint } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT, NOTE } from "../program/shared-options.ts";
import { carryOut, deed, DONE, reasonOf, refuseOthers, type Deed } from "../program/steering.ts";

export const cancel: Command = deed({
  name: "cancel",
  summary: "Cancels a saga that has not reached its pivot: it compensates.",
  on: ["saga"],
  id: "The id of a saga.",
  examples: [['amends cancel order-1 --reason "the customer called" --by ann', "what was done is undone"]],
});

export const reverse: Command = deed({
  name: "reverse",
  summary: "Takes back a completed saga without a pivot: another saga undoes its steps, the last one first.",
  about:
    "The completed saga stays as it is. Asking again is the same reversal; amends show names it and its state.",
  on: ["saga"],
  id: "The id of a completed saga.",
  examples: [
    ['amends reverse order-1 --reason "the customer sent it back" --by ann', "what it did is undone"],
  ],
});

export const retry: Command = deed({
  name: "retry",
  summary: "Retries a stalled saga or flow, or an abandoned event.",
  on: ["saga", "flow", "entry"],
  id: "The id of a stalled saga, a stalled flow or an abandoned event.",
  examples: [['amends retry order-1 --reason "the bank is back"', "from where it stands"]],
});

export const skip: Command = deed({
  name: "skip",
  summary: "Continues a stalled saga without one step, whose work was done by hand.",
  on: ["saga"],
  id: "The id of a stalled saga.",
  more: {
    step: text("STEP", "The step whose work was done by hand."),
    result: text("JSON", "After the pivot: the result that its act would have returned."),
  },
  examples: [
    [
      'amends skip order-1 --step charge --reason "refunded by hand, ticket 17"',
      "the other steps are still undone",
    ],
    [
      `amends skip order-2 --step email --result '{"sent":true}' --reason "sent it myself"`,
      "after the pivot",
    ],
  ],
  body: (found, { step, result }) => {
    if (typeof step !== "string") {
      const can = found.kind === "saga" ? found.detail.skippable.join(", ") : "";
      throw new UsageError(`Name the step: --step STEP.${can === "" ? "" : ` It may be: ${can}.`}`, "skip");
    }
    return { step, ...(typeof result === "string" && { result: readJson(result) }) };
  },
});

export const requeue: Command = deed({
  name: "requeue",
  summary: "Retries an abandoned outbox entry, with new attempts.",
  on: ["entry"],
  id: "The id of an outbox entry.",
  examples: [['amends requeue 0190a3f2-… --reason "Stripe is back"', "under the same id"]],
});

export const resolve: Command = deed({
  name: "resolve",
  summary: "Closes a stalled saga or flow, or an abandoned erasure or event, by hand.",
  about:
    "A stalled saga ends --as COMPLETED or FAILED. A stalled flow continues with the remaining undos. An abandoned erasure counts as done: name the evidence in --reason.",
  on: ["saga", "flow", "entry"],
  id: "The id of a stalled saga or flow, or of an abandoned erasure or event.",
  more: { as: text("END", "How a saga ends.", ["COMPLETED", "FAILED"]) },
  examples: [['amends resolve order-1 --as FAILED --reason "refunded by hand"', "a saga"]],
  body: (found, { as }) => {
    if (found.kind !== "saga") return {};
    if (typeof as === "string") return { as };
    throw new UsageError("Say how the saga ends: --as COMPLETED or --as FAILED.", "resolve");
  },
});

export const resend: Command = deed({
  name: "resend",
  summary: "Sends a webhook delivery that has ended again, as a new delivery.",
  on: ["delivery"],
  id: "The id of a delivery.",
  more: { again: flag("Also resends a delivery that has arrived: the receiver gets it twice.") },
  examples: [
    ['amends resend 17 --reason "their server is back"', "a dead letter"],
    ['amends resend 18 --again --reason "the partner lost it"', "a delivery that has arrived"],
  ],
  body: ({ detail }, { again }) => {
    if (detail.status !== "Completed" || again === true) return {};
    throw new Trouble(
      "ALREADY_DELIVERED",
      `Delivery ${detail.id} has arrived: the receiver would get it twice.`,
      `To send it again: amends resend ${detail.id} --again`,
    );
  },
});

export const dismiss: Command = deed({
  name: "dismiss",
  summary: "Settles a dead letter without sending anything.",
  on: ["delivery"],
  id: "The id of a dead delivery.",
  examples: [['amends dismiss 17 --reason "the partner has it from the export"', "it leaves the list"]],
});

export const enable: Command = deed({
  name: "enable",
  summary: "Enables a disabled or paused webhook subscription.",
  on: ["subscription"],
  id: "The id of a subscription.",
  examples: [['amends enable 3 --reason "their server is back"', "sending goes on"]],
});

export const unsubscribe: Command = deed({
  name: "unsubscribe",
  summary: "Deletes a webhook subscription.",
  on: ["subscription"],
  id: "The id of a subscription.",
  examples: [['amends unsubscribe 3 --reason "the partner has left"', "nothing more is sent there"]],
});

const HELD: readonly Kind[] = ["saga", "schedule"];

/** Pauses or resumes what an id belongs to, or all sagas or calls of a name. */
function hold(
  name: "pause" | "resume",
  words: Pick<Deed, "summary" | "examples"> & { readonly about: string },
): Command {
  return command({
    name,
    group: "Steer",
    ...words,
    args: [{ name: "ID", summary: "The id of a saga, or the name of a schedule.", required: false }],
    options: {
      ...SOURCE,
      ...NOTE,
      ...KIND,
      saga: text("NAME", "All sagas of this name."),
      call: text("NAME", "All durable calls of this name."),
      ...JSON_OUT,
    },
    run: async ({ args, options, output, world }) => {
      const { saga, call, kind } = options;
      const reason = reasonOf(options.reason, name);
      const [id] = args;
      if ([id, saga, call].filter((given) => given !== undefined).length !== 1)
        throw new UsageError(`Name one thing to ${name}: an ID, --saga NAME or --call NAME.`, name);
      return withApi(options, world, async (api) => {
        if (id === undefined) {
          await holdName(api, name, { saga, call }, reason, output);
          return 0;
        }
        const found = await find(api, id, kind, HELD);
        refuseOthers(found, name, HELD);
        await carryOut(api, name, found, { reason }, output);
        return 0;
      });
    },
  });
}

async function holdName(
  api: Api,
  name: "pause" | "resume",
  { saga, call }: { readonly saga: string | undefined; readonly call: string | undefined },
  reason: string,
  output: Output,
): Promise<void> {
  const [kind, of] = saga === undefined ? ["calls", call ?? ""] : ["sagas", saga];
  const answer = await api.post<PausedName>(`/api/paused/${kind}/${encodeURIComponent(of)}/${name}`, {
    reason,
  });
  output.document({ what: kind, action: name, ...answer });
  if (!answer.changed) output.say(ink`The ${kind} ${of} were not paused.`);
  else if (name === "pause")
    output.say(ink`${paint("green", "Paused")}: ${kind} ${of}, until amends resume --${answer.kind} ${of}`);
  else output.say(ink`${paint("green", "Resumed")}: ${kind} ${of}`);
}

export const pause: Command = hold("pause", {
  summary: "Pauses a saga, all sagas or calls of a name, or a schedule.",
  about:
    "What runs finishes its step. What is started, sent or enqueued is kept, and nothing else begins until it is resumed. A paused schedule does not tick.",
  examples: [
    ['amends pause order-1 --reason "the bank is down" --by ann', "one saga"],
    ['amends pause --saga place-order --reason "the bank is down"', "all sagas of a name"],
    ['amends pause --call send-mail --reason "the mail server is down"', "all calls of a name"],
    ['amends pause nightly-invoices --reason "the bank is down"', "a schedule: its open sagas go on"],
  ],
});

export const resume: Command = hold("resume", {
  summary: "Resumes what was paused, from where it stands.",
  about:
    "A deadline that passed meanwhile is acted on. The ticks of a schedule that passed are not made up for.",
  examples: [
    ['amends resume order-1 --reason "the bank is back"', "one saga"],
    ['amends resume --saga place-order --reason "the bank is back"', "all sagas of a name"],
    ['amends resume nightly-invoices --reason "the bank is back"', "a schedule"],
  ],
});

export const run: Command = deed({
  name: "run",
  summary: "Has the saga of a schedule started now, beside its ticks.",
  on: ["schedule"],
  id: "The name of a schedule.",
  examples: [
    ['amends run nightly-invoices --reason "last night failed"', "a worker that has the saga starts it"],
  ],
});

export const remove: Command = deed({
  name: "remove",
  summary: "Removes a schedule and the record of its ticks.",
  on: ["schedule"],
  id: "The name of a schedule.",
  examples: [
    ['amends remove nightly-invoices --reason "replaced by weekly-invoices"', "its open sagas go on"],
  ],
});

export const retire: Command = command({
  name: "retire",
  group: "Steer",
  summary: "Ends the subscription of a handler of events that no process has any more.",
  about:
    "It gets no further events, and what waits for it is superseded: nobody handles it. A worker that has the handler registers it anew.",
  args: [{ name: "HANDLER", summary: "The name of a handler or consumer.", required: true }],
  options: { ...SOURCE, ...NOTE, ...JSON_OUT },
  examples: [
    ['amends retire ship-v1 --reason "replaced by ship" --by ann', "what waits for it is not handled"],
  ],
  run: async ({ args, options, output, world }) => {
    const { reason } = options;
    if (reason === undefined || reason.trim() === "")
      throw new UsageError(
        `A reason is required: --reason "…". It is recorded in the audit trail.`,
        "retire",
      );
    const name = args[0] as string;
    return withApi(options, world, async (api) => {
      const detail = await api.post<HandlerDetail>(`/api/handlers/${encodeURIComponent(name)}/retire`, {
        reason,
      });
      output.document({ what: "handler", action: "retire", ...detail });
      const waited = detail.superseded ?? 0;
      output.say(
        ink`${paint("green", DONE.retire)}: handler ${detail.id}; ${waited} waiting ${waited === 1 ? "delivery is" : "deliveries are"} not handled`,
      );
      return 0;
    });
  },
});

function readJson(given: string): unknown {
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new UsageError("--result must be JSON.", "skip");
  }
}
