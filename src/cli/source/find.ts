/**
 * Finds what an id belongs to: a saga, a schedule, a run over events, an entry of the outbox, a delivery of a webhook or a
 * subscription to one. Deliveries and subscriptions are both numbered from 1, and a saga's id may be a number as well.
 * The kinds that the command works on come first, then items that need a person; if several remain, the command refuses
 * to guess.
 */
import type { SagaDetail } from "../../console/contract.ts";
import type {
  DeliveryDetail,
  FlowDetail,
  OutboxLine,
  ScheduleDetail,
  Subscription,
} from "../../console/contract-parts.ts";
import { deadLetterMachine } from "../../core/delivery/machine.ts";
import { isSerial } from "../../core/delivery/serial.ts";
import { AmendsError } from "../../core/errors.ts";
import { flowMachine } from "../../core/flow/machine.ts";
import { isUuid } from "../../core/flow/sealed.ts";
import { checkId } from "../../core/identity.ts";
import { outboxMachine } from "../../core/outbox/machine.ts";
import { checkScheduleName } from "../../schedules/definition.ts";
import { Refusal, type Api } from "./api.ts";
import { text, type TextOption } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";

export type Found =
  | { readonly kind: "saga"; readonly path: string; readonly detail: SagaDetail }
  | { readonly kind: "schedule"; readonly path: string; readonly detail: ScheduleDetail }
  | { readonly kind: "flow"; readonly path: string; readonly detail: FlowDetail }
  | { readonly kind: "entry"; readonly path: string; readonly detail: OutboxLine }
  | { readonly kind: "delivery"; readonly path: string; readonly detail: DeliveryDetail }
  | { readonly kind: "subscription"; readonly path: string; readonly detail: Subscription };

export type Kind = Found["kind"];

interface Place {
  readonly path: string;
  readonly mayBe: (id: string) => boolean;
  /** The states in which it is an attention item. */
  readonly waits: readonly string[];
}

const PLACES: Readonly<Record<Kind, Place>> = {
  saga: { path: "/api/sagas/", mayBe: () => true, waits: ["STALLED"] },
  schedule: { path: "/api/schedules/", mayBe: isScheduleName, waits: [] },
  flow: { path: "/api/flows/", mayBe: isUuid, waits: flowMachine.sources("resume") },
  entry: { path: "/api/outbox/", mayBe: isUuid, waits: outboxMachine.sources("requeue") },
  delivery: {
    path: "/api/webhooks/deliveries/",
    mayBe: isSerial,
    waits: deadLetterMachine.sources("dismiss"),
  },
  subscription: { path: "/api/webhooks/subscriptions/", mayBe: isSerial, waits: ["Disabled"] },
};

const KINDS = Object.keys(PLACES) as readonly Kind[];

export const KIND: { readonly kind: TextOption } = {
  kind: text("KIND", "What the id belongs to, where several have it.", KINDS),
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
    if ((kind !== undefined && kind !== name) || !PLACES[name].mayBe(id)) continue;
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
  const served = found.filter(({ kind }) => serves.includes(kind));
  const fitting = served.length > 0 ? served : found;
  const waiting = fitting.filter(needsPerson);
  if (waiting.length > 0) return waiting;
  // Lists show the numbers of deliveries. Those of subscriptions are met where one needs attention.
  const usual = fitting.filter(({ kind }) => kind !== "subscription");
  return usual.length > 0 ? usual.slice(0, 1) : fitting;
}

/** Whether it is on the attention list. */
function needsPerson({ kind, detail }: Found): boolean {
  const state = kind === "delivery" ? (detail.deadLetter ?? "") : detail.status;
  return PLACES[kind].waits.includes(state);
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
    `There is no ${kind ?? "saga, schedule, flow, entry, delivery or subscription"} with the id ${JSON.stringify(id)} at ${api.shown}.`,
    "amends list shows what there is.",
  );
}

function isScheduleName(id: string): boolean {
  try {
    return checkScheduleName(id) === id;
  } catch {
    return false;
  }
}

/** Invalid ids are refused before any request. */
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
