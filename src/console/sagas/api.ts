/** Sagas: lists, one of them, and what a person may do to it. */
import { sagaMachine } from "../../core/saga/machine.ts";
import type { SagaNote } from "../../sagas/view/operators.ts";
import type { SagaView } from "../../sagas/view/view.ts";
import { notFound } from "../http/answer.ts";
import type { SagaDetail, SagaPage } from "../contract.ts";
import { after } from "../http/page.ts";
import { whoOf, type ConsoleContext } from "../context.ts";
import type { Operator } from "../session/operator.ts";
import {
  anyJson,
  attributes,
  instant,
  integer,
  limit,
  needed,
  oneOf,
  reason,
  someOf,
  text,
} from "../http/param.ts";
import { route, type Route } from "../http/route.ts";
import { detailOf } from "./detail.ts";
import { pageOf } from "./page.ts";

const NOTE = { reason: reason(), revision: integer(1, Number.MAX_SAFE_INTEGER) };

export function sagaRoutes(context: ConsoleContext): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/sagas",
      access: "read",
      summary: "Sagas by their last change, newest first.",
      answers: "SagaPage",
      query: {
        q: text(500),
        name: text(64),
        status: someOf(sagaMachine.states),
        attributes: attributes(),
        error: text(255),
        from: instant(),
        to: instant(),
        limit: limit(),
        after: after(),
      },
      handle: async ({ query, who }): Promise<SagaPage> =>
        pageOf(context, {
          q: query.q,
          name: query.name,
          statuses: query.status,
          attributes: query.attributes,
          error: query.error,
          fromMs: query.from,
          toMs: query.to,
          limit: query.limit,
          after: query.after,
          mayReveal: who?.roles.includes("reveal") === true,
        }),
    }),
    route({
      method: "GET",
      path: "/api/sagas/{id}",
      access: "read",
      summary: "One saga: its state, its timeline and the allowed actions.",
      answers: "SagaDetail",
      handle: async ({ id }): Promise<SagaDetail> => {
        const { view, archivedAt } = await sagaOf(context, id);
        return detailOf(view, archivedAt);
      },
    }),
    ...actionRoutes(context),
  ];
}

/** Where it ran, or in the archive. */
export async function sagaOf({ amends }: ConsoleContext, id: string): Promise<FoundSaga> {
  const view = await amends.inspect(id);
  const found = view ? { view, archivedAt: undefined } : await amends.archived(id);
  if (!found) throw notFound("saga with this id");
  return found;
}

export interface FoundSaga {
  readonly view: SagaView;
  readonly archivedAt: Date | undefined;
}

function actionRoutes(context: ConsoleContext): readonly Route[] {
  const { amends, actions } = context;
  /** On record before it is done; the saga's own log has it as well. */
  const recorded = async (
    action: string,
    id: string,
    who: Operator,
    given: { readonly reason: string; readonly revision: number | undefined },
    work: (note: SagaNote) => Promise<SagaView>,
  ): Promise<SagaDetail> => {
    const { reason: why, revision } = given;
    const note = { reason: why, by: who.name, ...(revision !== undefined && { revision }) };
    const about = { by: who.name, action, target: { kind: "saga", id }, reason: why };
    return detailOf(await actions.around(about, () => work(note)));
  };
  const shared = { method: "POST", access: "operate", answers: "SagaDetail" } as const;
  /** A saga that runs changes all the time: its revision does not matter to a pause. */
  const held = (action: "pause" | "resume", summary: string): Route =>
    route({
      ...shared,
      path: `/api/sagas/{id}/${action}`,
      summary,
      body: { reason: reason() },
      handle: async (call) =>
        recorded(action, call.id, whoOf(call), { ...call.body, revision: undefined }, async (note) => {
          await amends[action]({ id: call.id }, note);
          const view = await amends.inspect(call.id);
          if (!view) throw notFound("saga with this id");
          return view;
        }),
    });
  return [
    route({
      ...shared,
      path: "/api/sagas/{id}/cancel",
      summary: "Undoes a saga that has not reached its pivot.",
      body: NOTE,
      handle: async (call) =>
        recorded("cancel", call.id, whoOf(call), call.body, (note) => amends.cancel(call.id, note)),
    }),
    route({
      ...shared,
      path: "/api/sagas/{id}/retry",
      summary: "Lets a stalled saga go on, with new tries.",
      body: NOTE,
      handle: async (call) =>
        recorded("retry", call.id, whoOf(call), call.body, (note) => amends.retry(call.id, note)),
    }),
    route({
      ...shared,
      path: "/api/sagas/{id}/skip",
      summary: "Lets a stalled saga go on without one step's work, which a person has done.",
      body: { ...NOTE, step: needed(text(64)), result: anyJson() },
      handle: async (call) => {
        const { step, result } = call.body;
        return recorded("skip", call.id, whoOf(call), call.body, (note) =>
          amends.skip(call.id, step, { ...note, ...(result !== undefined && { result }) }),
        );
      },
    }),
    route({
      ...shared,
      path: "/api/sagas/{id}/resolve",
      summary: "Ends a stalled saga: a person answers for its effects.",
      body: { ...NOTE, as: needed(oneOf(["COMPLETED", "FAILED"])) },
      handle: async (call) =>
        recorded("resolve", call.id, whoOf(call), call.body, (note) =>
          amends.resolve(call.id, call.body.as, note),
        ),
    }),
    route({
      ...shared,
      path: "/api/sagas/{id}/reverse",
      summary: "Takes back a completed saga: another saga undoes its steps, the last one first.",
      body: { reason: reason() },
      handle: async (call) =>
        recorded("reverse", call.id, whoOf(call), { ...call.body, revision: undefined }, async (note) => {
          await amends.reverse(call.id, note);
          const { view } = await sagaOf(context, call.id);
          return view;
        }),
    }),
    held("pause", "Pauses a saga that has not ended: what runs finishes its step."),
    held("resume", "Lets a paused saga go on from where it stands."),
  ];
}
