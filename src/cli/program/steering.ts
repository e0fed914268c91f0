/** How a command carries out an action: it finds the item, asks for a reason, and calls the route of the console's pages. */
import type { AttentionAction, SagaDetail } from "../../console/contract.ts";
import type { ScheduleAction } from "../../console/contract-parts.ts";
import { Refusal, SOURCE, withApi, type Api } from "../source/api.ts";
import { find, KIND, type Found, type Kind } from "../source/find.ts";
import { ink, paint } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { state } from "../terminal/words.ts";
import { command, type Command, type Options } from "./command.ts";
import { Trouble, UsageError } from "./failure.ts";
import { JSON_OUT, NOTE } from "./shared-options.ts";

export type ActionName = AttentionAction | "reverse" | ScheduleAction;

export interface Deed {
  readonly name: ActionName;
  readonly summary: string;
  readonly about?: string;
  /** The kinds of items that it works on. */
  readonly on: readonly Kind[];
  readonly id: string;
  readonly more?: Options;
  readonly examples: readonly (readonly [string, string])[];
  /** The body beside the reason. */
  readonly body?: (
    found: Found,
    options: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
}

/** The command of one action. */
export function deed({ name, summary, about, on, id, more = {}, examples, body }: Deed): Command {
  return command({
    name,
    group: "Steer",
    summary,
    ...(about !== undefined && { about }),
    args: [{ name: "ID", summary: id, required: true }],
    options: { ...SOURCE, ...NOTE, ...KIND, ...more, ...JSON_OUT },
    examples,
    run: async ({ args, options, output, world }) => {
      const reason = reasonOf(options.reason, name);
      return withApi(options, world, async (api) => {
        const found = await find(api, args[0] as string, options.kind, on);
        refuseOthers(found, name, on);
        await carryOut(api, name, found, { reason, ...body?.(found, options) }, output);
        return 0;
      });
    },
  });
}

export function reasonOf(given: string | undefined, name: ActionName): string {
  if (given !== undefined && given.trim() !== "") return given;
  throw new UsageError(`A reason is required: --reason "…". It is recorded in the audit trail.`, name);
}

/** Does the action, and says what came of it. */
export async function carryOut(
  api: Api,
  name: ActionName,
  found: Found,
  body: Readonly<Record<string, unknown>>,
  output: Output,
): Promise<void> {
  const detail = await act(api, `${found.path}/${name}`, body);
  output.document({ what: found.kind, action: name, ...detail });
  output.say(ink`${paint("green", DONE[name])}: ${describe(name, found, detail)}`);
  if (name !== "pause") adviseOnWorker(found, detail, output);
}

/** A console in this process has no outbox if the trail is chained; everything else works. */
async function act(api: Api, path: string, body: unknown): Promise<Found["detail"]> {
  try {
    return await api.post<Found["detail"]>(path, body);
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 501 || !api.local) throw error;
    throw new Trouble(
      "AUDIT_CHAINED",
      "The audit trail is chained, and only your application has its key. Without the key no event can be added.",
      "Use the config that configures `erasure`, or your application's own console.",
      { cause: error },
    );
  }
}

/** What is said of an action that was carried out. */
export const DONE: Readonly<Record<ActionName, string>> = {
  cancel: "Cancelling",
  retry: "Retrying",
  skip: "Skipped",
  reverse: "Taking back",
  requeue: "Requeued",
  resolve: "Resolved",
  resend: "Resending",
  dismiss: "Dismissed",
  enable: "Enabled",
  unsubscribe: "Unsubscribed",
  pause: "Paused",
  resume: "Resumed",
  run: "Asked for",
  remove: "Removed",
  retire: "Retired",
};

/** Refuses an item of another kind, and names its actions. */
export function refuseOthers({ kind, detail }: Found, name: ActionName, on: readonly Kind[]): void {
  const allowed: readonly string[] = detail.actions;
  const advice = allowed.map((action) => `amends ${action} ${detail.id}`).join(", or ");
  if (kind === "entry" && allowed.length > 0 && !allowed.includes(name)) {
    const what = allowed.includes("requeue") ? "an abandoned entry" : "an abandoned event";
    throw new Trouble("NOT_SUPPORTED", `This is ${what}: ${advice}`);
  }
  if (kind === "flow" && detail.status === "stalled" && detail.actions.length === 0) {
    throw new Trouble(
      "UNKNOWN_SAGA",
      `The actions on a flow depend on its definition, and ${detail.type} is not registered here.`,
      "Use a config that has it, or --console of a process that does.",
    );
  }
  if (on.includes(kind)) return;
  throw new Trouble(
    "NOT_SUPPORTED",
    `This is a ${kind} (${detail.status}): amends ${name} is for ${on.join(", ")}.`,
    advice === "" ? `amends show ${detail.id} says what may be done.` : `What helps: ${advice}`,
  );
}

function describe(name: ActionName, found: Found, detail: Found["detail"]): ReturnType<typeof ink> {
  if (found.kind === "delivery" && detail.id !== found.detail.id)
    return ink`delivery ${found.detail.id}, as the new delivery ${detail.id}, which is ${state(detail.status)}`;
  if (found.kind === "delivery" && "deadLetter" in detail && detail.deadLetter === "Dismissed")
    return ink`delivery ${detail.id} is not sent again`;
  if (name === "reverse" && "family" in detail)
    return ink`saga ${detail.id}, by saga ${detail.family.reversedBy?.id ?? ""}`;
  if (found.kind === "schedule" && "sagaId" in detail)
    return ink`saga ${detail.sagaId ?? ""}, which a worker that has ${found.detail.saga} starts`;
  return ink`${found.kind} ${detail.id} is ${state(detail.status)}`;
}

/** Without a worker nothing happens. */
function adviseOnWorker({ kind }: Found, detail: Found["detail"], output: Output): void {
  const isOpen =
    kind === "saga" && ["PENDING", "RUNNING", "COMPENSATING"].includes((detail as SagaDetail).status);
  if (isOpen) output.say(paint("dim", `A worker carries it out. To follow it: amends stream ${detail.id}`));
}
