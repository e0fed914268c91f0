/**
 * A server that answers the console's contract from a world in memory: the pages can be tried in every state that a
 * database would take long to bring about. Headers, pages and masks are the console's own.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { answer, json, notFound, problemAnswer, Refused, tagged } from "../../src/console/http/answer.ts";
import { Assets } from "../../src/console/http/assets.ts";
import type { LiveChange, Part, SagaLine, Session } from "../../src/console/contract.ts";
import { nodeListener } from "../../src/console/http/node-http.ts";
import { applyAction } from "./support/world-actions.ts";
import { readWorld } from "./support/world-reads.ts";
import { makeWorld, type Kind, type World } from "./support/world.ts";

export const TOKEN = "one-time-token-for-the-tests";
const COOKIE = "amends-fixture=1";

export interface FixtureOptions {
  readonly assets: string;
  readonly kind?: Kind;
  /** A few of each kind instead of a hundred sagas: enough to look at, and quicker to judge. */
  readonly few?: boolean;
  readonly roles?: Session["roles"];
  /** Everybody is signed in. */
  readonly open?: boolean;
  /** Where it is mounted, such as "/ops/amends/". */
  readonly mount?: string;
  readonly port?: number;
}

export interface Fixture {
  readonly url: string;
  /** What the pages do not know of until they are told. */
  readonly world: World;
  /** Every write that came in: method, path, body, and whether it had the header that writes need. */
  readonly writes: { readonly path: string; readonly body: unknown; readonly marked: boolean }[];
  /** Every read that was answered: path and status. */
  readonly reads: { readonly path: string; readonly status: number }[];
  /** Tells every browser that something has changed. */
  tell(change?: Partial<LiveChange>): void;
  /** Refuses every call from here on, or no longer. */
  fail(status: number | undefined): void;
  /** Drops every connection and takes no new one, or listens again. */
  drop(): Promise<void>;
  raise(): Promise<void>;
  close(): Promise<void>;
}

export async function startFixture(options: FixtureOptions): Promise<Fixture> {
  const { mount = "/", kind = "busy", open = true } = options;
  const world = makeWorld(kind, Date.now(), options.roles);
  if (options.few) {
    const kept = [...world.sagas].filter((_, index) => index < 12);
    world.sagas.clear();
    for (const [id, saga] of kept) world.sagas.set(id, saga);
  }
  const assets = new Assets(options.assets);
  const listeners = new Set<ReadableStreamDefaultController<Uint8Array>>();
  const writes: Fixture["writes"] = [];
  const reads: Fixture["reads"] = [];
  let failing: number | undefined;

  const handle = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url);
    if (!pathname.startsWith(mount)) throw notFound("page");
    const path = pathname.slice(mount.length);
    if (!path.startsWith("api/")) {
      const page = assets.serve(`/${path}`, request.headers.get("accept-encoding"));
      if (page) return page;
      throw notFound("page");
    }
    if (failing !== undefined)
      throw new Refused(failing, { code: "BROKEN", message: "The database is away." });
    const name = path.slice("api/".length);
    if (name === "session") return session(request, world, open);
    if (!open && !(request.headers.get("cookie") ?? "").includes(COOKIE)) {
      throw new Refused(401, { code: "SIGNED_OUT", message: "Sign in first." });
    }
    if (name === "live") return stream(listeners);
    if (request.method === "GET") {
      const response = tagged(readWorld(world, name, searchParams), request);
      reads.push({ path: name, status: response.status });
      return response;
    }
    const body = (await request.json()) as Record<string, unknown>;
    writes.push({ path: name, body, marked: request.headers.get("x-amends-console") === "1" });
    return json(applyAction(world, name, body));
  };
  const listener = nodeListener(async (request) => {
    try {
      return await handle(request);
    } catch (error) {
      return problemAnswer(error);
    }
  });
  let server = createServer(listener);
  const port = await listen(server, options.port ?? 0);
  const end = async (): Promise<void> => {
    for (const controller of listeners) controller.close();
    listeners.clear();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${port}${mount}`,
    world,
    writes,
    reads,
    tell: (change = {}) => send(listeners, { ...nothing(world), ...change }),
    fail: (status) => {
      failing = status;
    },
    drop: end,
    raise: async () => {
      server = createServer(listener);
      await listen(server, port);
    },
    close: end,
  };
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve) => {
    server.listen(port, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}

async function session(request: Request, world: World, open: boolean): Promise<Response> {
  const { method, headers } = request;
  if (method === "DELETE") return json({}, 200, { "set-cookie": `${COOKIE}; Max-Age=0; Path=/` });
  const who: Session = {
    name: "Otto",
    roles: world.roles,
    // An open fixture is like a console behind an application's own sign-in.
    expiresAt: open ? null : new Date(world.nowMs + 43_200_000).toISOString(),
    parts: world.parts,
    sagas: ["place-order", "onboard-tenant", "renew-subscription", "refund-order"],
    version: "0.1.0",
  };
  if (method === "POST") {
    const { token } = (await request.json()) as { readonly token?: unknown };
    if (token !== TOKEN) {
      throw new Refused(401, { code: "BAD_TOKEN", message: "This token is not valid, or was already used." });
    }
    return json(who, 200, { "set-cookie": `${COOKIE}; HttpOnly; SameSite=Strict; Path=/` });
  }
  if (open || (headers.get("cookie") ?? "").includes(COOKIE)) return json(who);
  throw new Refused(401, { code: "SIGNED_OUT", message: "Sign in first." });
}

function stream(listeners: Set<ReadableStreamDefaultController<Uint8Array>>): Response {
  let mine: ReadableStreamDefaultController<Uint8Array> | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      mine = controller;
      listeners.add(controller);
      controller.enqueue(new TextEncoder().encode(": hello\n\n"));
    },
    cancel() {
      if (mine) listeners.delete(mine);
    },
  });
  return answer(body, 200, { "content-type": "text/event-stream; charset=utf-8" });
}

function send(listeners: Set<ReadableStreamDefaultController<Uint8Array>>, change: LiveChange): void {
  const bytes = new TextEncoder().encode(`event: change\ndata: ${JSON.stringify(change)}\n\n`);
  for (const controller of listeners) controller.enqueue(bytes);
}

function nothing(world: World): LiveChange {
  return {
    at: new Date().toISOString(),
    attention: { value: world.attention.length, exact: true },
    sagas: [] as readonly SagaLine[],
    more: false,
    watched: [],
    parts: [] as readonly Part[],
  };
}
