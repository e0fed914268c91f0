/** Whatever has an id: a saga, a run over events, an entry of the outbox or a delivery of a webhook. */
import type { SagaDetail } from "../console/contract.ts";
import type { DeliveryDetail, FlowDetail, OutboxLine } from "../console/contract-parts.ts";
import { checkId } from "../core/identity.ts";
import { AmendsError } from "../core/errors.ts";
import { Refusal, type Api } from "./api.ts";
import { text, type TextOption } from "./command.ts";
import { Trouble, UsageError } from "./failure.ts";

export type Found =
  | { readonly kind: "saga"; readonly path: string; readonly detail: SagaDetail }
  | { readonly kind: "flow"; readonly path: string; readonly detail: FlowDetail }
  | { readonly kind: "entry"; readonly path: string; readonly detail: OutboxLine }
  | { readonly kind: "delivery"; readonly path: string; readonly detail: DeliveryDetail };

export type Kind = Found["kind"];

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/;
const SERIAL = /^[1-9]\d{0,17}$/;

/** In this order: an id that somebody chose goes before one that was counted. */
const PLACES: Readonly<Record<Kind, { readonly path: string; readonly form: RegExp }>> = {
  saga: { path: "/api/sagas/", form: /./s },
  flow: { path: "/api/flows/", form: UUID },
  entry: { path: "/api/outbox/", form: UUID },
  delivery: { path: "/api/webhooks/deliveries/", form: SERIAL },
};

const KINDS = Object.keys(PLACES) as readonly Kind[];

export const KIND: { readonly kind: TextOption } = {
  kind: text("KIND", "What the id is of, where it could be of several.", KINDS),
};

export async function find(api: Api, given: string, kind: string | undefined): Promise<Found> {
  const id = readId(given);
  const wanted = KINDS.filter((name) => (kind === undefined || kind === name) && PLACES[name].form.test(id));
  for (const name of wanted) {
    const path = `${PLACES[name].path}${encodeURIComponent(id)}`;
    const detail = await lookUp(api, path);
    if (detail !== undefined) return { kind: name, path, detail } as Found;
  }
  throw new Trouble(
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
