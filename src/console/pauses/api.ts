/** What is paused: a list, and the names of sagas and of calls that a person pauses and resumes. Each is on record before it is done. */
import { isName } from "../../core/identity.ts";
import type { Paused } from "../../operate/pauses/pauses.ts";
import { noteOf, type ConsoleContext } from "../context.ts";
import type { PausedLine, PausedName } from "../contract-parts.ts";
import type { Page } from "../contract.ts";
import { notFound } from "../http/answer.ts";
import { after, toPage } from "../http/page.ts";
import { limit, reason } from "../http/param.ts";
import { route, type Route } from "../http/route.ts";

export function pauseRoutes({ amends }: ConsoleContext): readonly Route[] {
  return [
    route({
      method: "GET",
      path: "/api/paused",
      access: "read",
      summary: "What is paused: names first, then sagas, those that were paused first in front.",
      answers: "Page<PausedLine>",
      query: { limit: limit(), after: after() },
      handle: async ({ query }): Promise<Page<PausedLine>> => {
        const { limit: max, after: place } = query;
        const found = await amends.paused({ limit: max, ...(place !== undefined && { after: place }) });
        return toPage(found, toLine);
      },
    }),
    ...nameRoutes(amends, "saga"),
    ...nameRoutes(amends, "call"),
  ];
}

function nameRoutes(amends: ConsoleContext["amends"], kind: "saga" | "call"): readonly Route[] {
  const path = `/api/paused/${kind}s/{id}`;
  const target = (name: string): { saga: string } | { call: string } =>
    kind === "saga" ? { saga: name } : { call: name };
  const shared = {
    method: "POST",
    access: "operate",
    answers: "PausedName",
    body: { reason: reason() },
  } as const;
  return [
    route({
      ...shared,
      path: `${path}/pause`,
      summary: `Pauses all ${kind}s of a name: what runs finishes its step, and the others wait.`,
      handle: async (call): Promise<PausedName> => {
        const paused = await amends.pause(target(checked(call.id)), noteOf(call));
        return { kind, name: call.id, paused: toLine(paused), changed: true };
      },
    }),
    route({
      ...shared,
      path: `${path}/resume`,
      summary: `Resumes the ${kind}s of a name.`,
      handle: async (call): Promise<PausedName> => {
        const changed = await amends.resume(target(checked(call.id)), noteOf(call));
        return { kind, name: call.id, paused: null, changed };
      },
    }),
  ];
}

function checked(name: string): string {
  if (isName(name)) return name;
  throw notFound("name like this");
}

function toLine({ kind, id, name, reason: why, by, since }: Paused): PausedLine {
  return { kind, id: id ?? null, name, reason: why, by: by ?? null, since: since.toISOString() };
}
