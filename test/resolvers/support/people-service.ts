/** A small REST service for people, and a log service that can only let things expire: what the HTTP resolver meets. */
import type { ResolverFault } from "amends/testing";
import { httpServer, json, type HttpServer, type Reaction, type Received } from "./http-server.ts";

export interface PeopleService {
  readonly people: Map<string, Record<string, unknown>>;
  readonly url: string;
  readonly received: HttpServer["received"];
  fault(fault: ResolverFault | undefined): void;
  close(): Promise<void>;
}

type Routes = (received: Received, id: string) => Reaction;

async function service(people: Map<string, Record<string, unknown>>, routes: Routes): Promise<PeopleService> {
  let fault: ResolverFault | undefined;
  const server = await httpServer((received) => {
    if (fault === "hangs") return "hang";
    if (fault === "down") return { status: 503 };
    if (fault === "refuses") return { status: 403, body: "no" };
    return routes(received, decodeURIComponent(/^\/\w+\/([^/?]*)/.exec(received.path)?.[1] ?? ""));
  });
  return {
    people,
    url: server.url,
    received: server.received,
    fault: (value) => void (fault = value),
    close: () => server.close(),
  };
}

export function peopleService(): Promise<PeopleService> {
  const people = new Map<string, Record<string, unknown>>();
  return service(people, ({ method, body }, id) => {
    const found = people.get(id);
    if (!found) return { status: 404 };
    if (method === "DELETE") people.delete(id);
    if (method === "PATCH") people.set(id, { ...found, ...(JSON.parse(body) as object) });
    return method === "DELETE" ? { status: 204 } : json(200, people.get(id));
  });
}

/** Everything is kept until the instant that stands in `expires_at`. */
export function logService(nowMs: () => number): Promise<PeopleService> {
  const people = new Map<string, Record<string, unknown>>();
  return service(people, (_, id) => {
    const found = people.get(id);
    if (!found || Date.parse(String(found["expires_at"])) <= nowMs()) return { status: 410 };
    return json(202, { data: found });
  });
}
