/** A request for every route of the table, such that it would be answered: each test then spoils one thing. */
import type { Route } from "../../../src/console/http/route.ts";
import type { Person } from "./visit.ts";

const BODIES: Readonly<Record<string, unknown>> = {
  "POST /api/session": { token: "operator-token-of-32-characters-0" },
  "POST /api/sagas/{id}/skip": { reason: "test", step: "charge" },
  "POST /api/sagas/{id}/resolve": { reason: "test", as: "FAILED" },
  "POST /api/webhooks/subscriptions/{id}/resend": { reason: "test", since: "2026-01-01T00:00:00Z" },
  "POST /api/bulk": { reason: "test", action: "retry", status: "STALLED" },
  "POST /api/bulk/preview": { action: "retry", status: "STALLED" },
  "POST /api/reveal": { kind: "saga", id: "o-1", reason: "test" },
};

export interface Sample {
  readonly title: string;
  readonly route: Route;
  readonly path: string;
  readonly ask: { readonly method: string; readonly body?: unknown };
  /** Who may, and who may not; nobody for open routes. */
  readonly may: Person;
  readonly mayNot: Person | undefined;
}

export function samplesOf(routes: readonly Route[]): readonly Sample[] {
  return routes.map((route) => {
    const title = `${route.method} ${route.path}`;
    return {
      title,
      route,
      path: route.path.replace("{id}", "o-1"),
      ask: { method: route.method, ...(route.body && { body: BODIES[title] ?? { reason: "test" } }) },
      may: route.access === "reveal" ? "revealer" : route.access === "operate" ? "operator" : "reader",
      mayNot: route.access === "operate" ? "revealer" : route.access === "reveal" ? "operator" : undefined,
    };
  });
}
