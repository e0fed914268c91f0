/**
 * Whatever has an id: a saga, a run over events, an entry of the outbox, a delivery of a webhook or a subscription to
 * one. Deliveries and subscriptions are counted, each from 1, and an id of a saga may be a number as well: what needs a
 * person goes before what does not, and where that does not tell them apart nothing is guessed.
 */
import type { SagaDetail } from "../../console/contract.ts";
import type { DeliveryDetail, FlowDetail, OutboxLine, Subscription } from "../../console/contract-parts.ts";
import { checkId } from "../../core/identity.ts";
import { AmendsError } from "../../core/errors.ts";
import { Refusal, type Api } from "./api.ts";
import { text, type TextOption } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";

export type Found =
  | { readonly kind: "saga"; readonly path: string; readonly detail: SagaDetail }
  | { readonly kind: "flow"; readonly path: string; readonly detail: FlowDetail }
  | { readonly kind: "entry"; readonly path: string; readonly detail: OutboxLine }
  | { readonly kind: "delivery"; readonly path: string; readonly detail: DeliveryDetail }
  | { readonly kind: "subscription"; readonly path: string; readonly detail: Subscription };

export type Kind = Found["kind"];

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const SERIAL = /^[1-9]\d{0,17}$/;

const PLACES: Readonly<Record<Kind, { readonly path: string; readonly form: RegExp }>> = {
  saga: { path: "/api/sagas/", form: /./s },
  flow: { path: "/api/flows/", form: UUID },
  entry: { path: "/api/outbox/", form: UUID },
  delivery: { path: "/api/webhooks/deliveries/", form: SERIAL },
  subscription: { path: "/api/webhooks/subscriptions/", form: SERIAL },
};

const KINDS = Object.keys(PLACES) as readonly Kind[];

export const KIND: { readonly kind: TextOption } = {
  kind: text("KIND", "What the id is of, where it could be of several.", KINDS),
};

/** `serves`: the kinds that the command is for. */
export async function find(
  api: Api,
  given: string,
  kind: string | undefined,
  serves: readonly Kind[] = KINDS,
): Promise<Found> {
  const id = readId(given);
  const found: Found[] = [];
  for (const name of KINDS) {
    if ((kind !== undefined && kind !== name) || !PLACES[name].form.test(id)) continue;
    const path = `${PLACES[name].path}${encodeURIComponent(id)}`;
    const detail = await lookUp(api, path);
    if (detail !== undefined) found.push({ kind: name, path, detail } as Found);
  }
  const [first, ...others] = kind === undefined ? meant(found, serves) : found;
  if (first === undefined) throw notFound(api, id, kind);
  if (others.length > 0) throw ambiguous(id, [first, ...others]);
  return first;
}

function meant(found: readonly Found[], serves: readonly Kind[]): readonly Found[] {
  const waiting = found.filter(needsPerson);
  if (waiting.length > 0) return waiting;
  // Lists show the numbers of deliveries. Those of subscriptions are met where one needs attention.
  const usual = found.filter(({ kind }) => kind !== "subscription");
  const served = usual.filter(({ kind }) => serves.includes(kind));
  return served.length > 0 ? served : usual.length > 0 ? usual.slice(0, 1) : found;
}

/** Whether it stands in the attention list. */
function needsPerson({ kind, detail }: Found): boolean {
  switch (kind) {
    case "saga":
      return detail.status === "STALLED";
    case "flow":
      return detail.status === "stalled";
    case "entry":
      return detail.status === "abandoned";
    case "delivery":
      return detail.deadLetter === "Open";
    default:
      return detail.status === "Disabled";
  }
}

function ambiguous(id: string, found: readonly Found[]): UsageError {
  const names = found.map(({ kind, detail }) => `a ${kind} (${detail.status})`);
  const kinds = found.map(({ kind }) => `--kind ${kind}`);
  return new UsageError(
    `There is ${names.join(" and ")} with the id ${JSON.stringify(id)}: say which one, ${kinds.join(" or ")}.`,
  );
}

function notFound(api: Api, id: string, kind: string | undefined): Trouble {
  return new Trouble(
    "NOT_FOUND",
    `There is no ${kind ?? "saga, flow, entry or delivery"} with the id ${JSON.stringify(id)} at ${api.shown}.`,
    "amends list shows what there is.",
  );
}

/** Ids that can be none are refused before anybody is asked. */
function readId(given: string): string {
  try {
    return checkId(given, "The id");
  } catch (error) {
    throw error instanceof AmendsError ? new UsageError(error.message) : error;
  }
}

async function lookUp(api: Api, path: string): Promise<unknown> {
  try {
    return await api.get<unknown>(path);
  } catch (error) {
    if (error instanceof Refusal && error.status === 404) return undefined;
    throw error;
  }
}
