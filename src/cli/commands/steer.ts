/**
 * What a person may do: cancel, retry, skip, requeue, resolve. Each finds what the id is of, and asks the same route
 * that the console's own pages ask, so that a reason is demanded and the action is on record before it is carried out.
 */
import type { SagaDetail } from "../../console/contract.ts";
import { Refusal, SOURCE, withApi, type Api } from "../source/api.ts";
import { commandsOf } from "../terminal/attention-table.ts";
import { command, flag, text, type Command, type Options } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { find, KIND, type Found, type Kind } from "../source/find.ts";
import { ink, paint } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT, NOTE } from "../program/shared-options.ts";
import { state } from "../terminal/words.ts";

/** What the console calls the action, by what it is done to. */
type Routes = Partial<Record<Kind, string>>;

interface Deed {
  readonly name: string;
  readonly summary: string;
  readonly about?: string;
  readonly routes: Routes;
  readonly id: string;
  readonly more?: Options;
  readonly examples: readonly (readonly [string, string])[];
  /** What goes along with the reason. */
  readonly body?: (
    found: Found,
    options: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
}

function deed({ name, summary, about, routes, id, more = {}, examples, body }: Deed): Command {
  return command({
    name,
    group: "Steer",
    summary,
    ...(about !== undefined && { about }),
    args: [{ name: "ID", summary: id, required: true }],
    options: { ...SOURCE, ...NOTE, ...KIND, ...more, ...JSON_OUT },
    examples,
    run: async ({ args, options, output, world }) => {
      const { reason } = options;
      if (reason === undefined || reason.trim() === "")
        throw new UsageError(`A reason is required: --reason "…". It is recorded in the audit trail.`, name);
      return withApi(options, world, async (api) => {
        const found = await find(api, args[0] as string, options.kind, Object.keys(routes) as Kind[]);
        const action = routeOf(found, name, routes);
        const extra = body?.(found, options) ?? {};
        const detail = await act(api, `${found.path}/${action}`, { reason, ...extra });
        output.document({ what: found.kind, action: name, ...detail });
        output.say(ink`${paint("green", doneWord(found, name))}: ${describe(found, detail)}`);
        adviseOnWorker(found, detail, output);
        return 0;
      });
    },
  });
}

/** A console in this process has no outbox where the trail is chained: everything else it can. */
async function act(api: Api, path: string, body: unknown): Promise<Found["detail"]> {
  try {
    return await api.post<Found["detail"]>(path, body);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 501 || !api.local) throw error;
    throw new Trouble(
      "AUDIT_CHAINED",
      "The audit trail is chained, and only your application has its key: without it nothing may be added.",
      "Use the config that makes your Erasure, or your application's own console.",
      { cause: error },
    );
  }
}

const DONE: Readonly<Record<string, string>> = {
  cancel: "Cancelling",
  retry: "Retrying",
  skip: "Skipped",
  requeue: "Requeued",
  resolve: "Resolved",
};

/** A dead letter stays one: it is dismissed, and nothing more is sent. */
function doneWord({ kind }: Found, name: string): string {
  if (kind === "subscription" && name === "retry") return "Enabled";
  return kind === "delivery" && name === "resolve" ? "Dismissed" : (DONE[name] ?? "Done");
}

function routeOf({ kind, detail }: Found, name: string, routes: Routes): string {
  const action = routes[kind];
  const helping = commandsOf(detail.actions);
  const advice = helping.map((helps) => `amends ${helps} ${detail.id}`).join(", or ");
  if (kind === "entry" && helping.length > 0 && !helping.includes(name)) {
    const what = helping.includes("requeue") ? "an abandoned entry" : "an event that was given up";
    throw new Trouble("NOT_SUPPORTED", `This is ${what}: ${advice}`);
  }
  if (kind === "flow" && detail.status === "stalled" && detail.actions.length === 0) {
    throw new Trouble(
      "UNKNOWN_SAGA",
      `What to do about a flow is said by its definition, and ${detail.type} is not known here.`,
      "Use a config that has it, or --console of a process that does.",
    );
  }
  if (action !== undefined) return action;
  const can = Object.keys(routes).join(", ");
  throw new Trouble(
    "NOT_SUPPORTED",
    `This is a ${kind} (${detail.status}), which cannot be ${PAST[name] ?? "acted upon"}; that is for: ${can}.`,
    advice === "" ? `amends show ${detail.id} says what may be done.` : `What helps: ${advice}`,
  );
}

const PAST: Readonly<Record<string, string>> = {
  cancel: "cancelled",
  retry: "retried",
  skip: "skipped",
  requeue: "requeued",
  resolve: "resolved",
};

function describe(found: Found, detail: Found["detail"]): ReturnType<typeof ink> {
  if (found.kind === "delivery" && detail.id !== found.detail.id)
    return ink`delivery ${found.detail.id}, as the new delivery ${detail.id}, which is ${state(detail.status)}`;
  if (found.kind === "delivery" && "deadLetter" in detail && detail.deadLetter === "Dismissed")
    return ink`delivery ${detail.id} is not sent again`;
  return ink`${found.kind} ${detail.id} is ${state(detail.status)}`;
}

/** A wish without a worker stays one. */
function adviseOnWorker({ kind }: Found, detail: Found["detail"], output: Output): void {
  const isOpen =
    kind === "saga" && ["PENDING", "RUNNING", "COMPENSATING"].includes((detail as SagaDetail).status);
  if (isOpen) output.say(paint("dim", `A worker sees to it. To follow it: amends stream ${detail.id}`));
}

export const cancel: Command = deed({
  name: "cancel",
  summary: "Undoes a saga that has not reached its pivot.",
  routes: { saga: "cancel" },
  id: "The id of a saga.",
  examples: [['amends cancel order-1 --reason "the customer called" --by ann', "what was done is undone"]],
});

export const retry: Command = deed({
  name: "retry",
  summary: "Lets a stalled saga or flow, an event that was given up, or a disabled subscription go on.",
  routes: { saga: "retry", flow: "retry", entry: "retry", subscription: "enable" },
  id: "The id of a stalled saga, a stalled flow, an event that was given up, or a disabled subscription.",
  examples: [
    ['amends retry order-1 --reason "the bank is back"', "from where it stands"],
    ['amends retry 3 --kind subscription --reason "their server is back"', "sending goes on"],
  ],
});

export const skip: Command = deed({
  name: "skip",
  summary: "Lets a stalled saga go on without one step's work, which a person has done.",
  routes: { saga: "skip" },
  id: "The id of a stalled saga.",
  more: {
    step: text("STEP", "Whose work was done by hand."),
    result: text("JSON", "After the pivot: what its act would have returned."),
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
  summary: "Gives an abandoned outbox entry a fresh budget, or sends a delivery anew.",
  routes: { entry: "requeue", delivery: "resend" },
  id: "The id of an outbox entry or of a delivery.",
  examples: [
    ['amends requeue 0190a3f2-… --reason "Stripe is back"', "an entry of the outbox, under the same id"],
    ['amends requeue 17 --reason "their server is back"', "a delivery that was given up, as a new one"],
    ['amends requeue 18 --again --reason "the partner lost it"', "a delivery that has arrived, once more"],
  ],
  more: { again: flag("Also where the delivery has arrived: the partner gets it twice.") },
  body: ({ kind, detail }, { again }) => {
    if (kind !== "delivery" || detail.status !== "Completed" || again === true) return {};
    throw new Trouble(
      "ALREADY_DELIVERED",
      `Delivery ${detail.id} has arrived: the partner would get it twice.`,
      `Where that is wanted: amends requeue ${detail.id} --again`,
    );
  },
});

export const resolve: Command = deed({
  name: "resolve",
  summary: "Ends what waits for a person: who resolves it answers for its effects.",
  about:
    "A stalled saga ends --as COMPLETED or FAILED. A stalled flow goes on with what is left to undo. An abandoned erasure counts as carried out: name the evidence in --reason. A dead letter is settled without sending anything.",
  routes: { saga: "resolve", flow: "resolve", entry: "resolve", delivery: "dismiss" },
  id: "The id of a stalled saga or flow, of an abandoned erasure, of an event that was given up, or of a dead delivery.",
  more: { as: text("END", "How a saga ends.", ["COMPLETED", "FAILED"]) },
  examples: [
    ['amends resolve order-1 --as FAILED --reason "refunded by hand"', "a saga"],
    ['amends resolve 17 --reason "the partner has it from the export"', "a delivery"],
  ],
  body: (found, { as }) => {
    if (found.kind !== "saga") return {};
    if (typeof as === "string") return { as };
    throw new UsageError("Say how the saga ends: --as COMPLETED or --as FAILED.", "resolve");
  },
});

function readJson(given: string): unknown {
  try {
    return JSON.parse(given) as unknown;
  } catch {
    throw new UsageError("--result must be JSON.", "skip");
  }
}
