/**
 * The console: a fetch handler over the table of routes, and a small HTTP server. Every request is checked in one
 * order: Host, path, operator, origin, role, parameters.
 */
import { setMaxListeners } from "node:events";
import { readFileSync } from "node:fs";
import type { RequestListener } from "node:http";
import { positiveMs, type Duration } from "../core/duration.ts";
import { errorLabel } from "../core/errors.ts";
import type { Amends } from "../operate/amends.ts";
import { answer, isUnforeseen, json, problemAnswer, Refused, tagged } from "./http/answer.ts";
import { Assets } from "./http/assets.ts";
import { readBody } from "./http/body.ts";
import { Guard } from "./session/guard.ts";
import { Live } from "./live/live.ts";
import { listen, nodeListener, type ConsoleServer, type ListenOptions } from "./http/node-http.ts";
import { ConsoleContext } from "./context.ts";
import { checkOperator, ROLES, type Operator } from "./session/operator.ts";
import { checkOptions, type CheckedOptions, type ConsoleOptions } from "./options.ts";
import { Origins } from "./http/origin.ts";
import { readAll } from "./http/param.ts";
import { find, type Route } from "./http/route.ts";
import type { EntryActions } from "./outbox/api.ts";
import { allRoutes } from "./routes.ts";
import { Sessions } from "./session/sessions.ts";
import { sessionStore } from "./session/signed-out.ts";
import { Tokens } from "./session/tokens.ts";

/** Facts about a request that are not in the request itself. */
export interface Arrival {
  /** The part of the path that the framework removed at the mount. */
  readonly mount?: string;
  /** Where it should have gone. */
  readonly redirect?: string;
  /** The address that it came from. */
  readonly caller?: string;
  /** The Accept-Encoding, if the response reaches the client with its Content-Encoding. Next.js removes that header. */
  readonly accepts?: string | undefined;
}

/**
 * The operator that an invitation signs in, and how long the invitation is valid. Default: the name "operator", all
 * roles.
 */
export interface InviteOptions extends Partial<Operator> {
  /** How long the invitation is valid. Default: 15m. */
  readonly lifetime?: Duration;
}

/** The operators' console: pages and an API over one Amends, as a fetch handler, a node:http handler or a server. */
export class Console {
  /** @internal */
  readonly routes: readonly Route[];
  readonly #options: CheckedOptions;
  readonly #amends: Amends;
  readonly #context: ConsoleContext;
  readonly #guard: Guard;
  readonly #origins: Origins;
  readonly #tokens: Tokens;
  readonly #live: Live;
  readonly #assets: Assets;
  readonly #closing = new AbortController();
  readonly #arrivals = new WeakMap<Request, Arrival>();

  /** @internal */
  constructor(
    amends: Amends,
    options: ConsoleOptions,
    entryActions: EntryActions | undefined = amends.parts.erasure?.outbox,
  ) {
    const checked = checkOptions(options);
    const { closing } = amends.context;
    const context = new ConsoleContext(amends, [
      "sagas",
      "schedules",
      "outbox",
      "erasures",
      "flows",
      "webhooks",
    ]);
    const { clock } = context.db;
    // Every browser that looks listens to it: how many that are is no mistake.
    setMaxListeners(0, this.#closing.signal);
    this.#amends = amends;
    this.#context = context;
    this.#options = checked;
    this.#origins = new Origins(checked.hosts, checked.origin);
    this.#tokens = new Tokens(checked.tokens, clock, (fields, message) =>
      amends.context.warn(fields, message),
    );
    const sessions = new Sessions(
      checked.secret,
      checked.sessionMs,
      clock.virtualNowMs ?? Date.now,
      sessionStore(context, this.#tokens),
    );
    this.#guard = new Guard({
      origins: this.#origins,
      tokens: this.#tokens,
      sessions,
      authorize: checked.authorize,
    });
    this.#assets = new Assets(checked.assets);
    this.#live = new Live(context, amends.context.watch("watch for changes"));
    closing.addEventListener("abort", () => this.close(), { once: true });
    this.routes = allRoutes({
      context,
      tokens: this.#tokens,
      sessions,
      origins: this.#origins,
      live: this.#live,
      closing: this.#closing.signal,
      stuckAfterMs: checked.stuckAfterMs,
      entryActions,
      version: readVersion(),
      mountOf: (request) => this.#mountOf(request),
      callerOf: (request) => this.#callerOf(request),
    });
  }

  /**
   * Answers a fetch request: for Hono, Next and other frameworks with a fetch interface. It can be passed on unbound.
   */
  readonly fetch = (request: Request): Promise<Response> => this.answer(request, {});

  /**
   * Answers a node:http request: for Express, Fastify's raw requests and a bare server. It can be passed on unbound.
   */
  readonly handler: RequestListener = nodeListener((request, arrival) => this.answer(request, arrival));

  /**
   * Makes a one-time token. Append it to the console's address as `#token=…`. Throws `BAD_OPTION` if the name or the
   * roles are not valid.
   */
  invite(options: InviteOptions = {}): string {
    const { name = "operator", roles = ROLES, lifetime = "15m" } = options;
    const operator = checkOperator({ name, roles }, "An invitation");
    return this.#tokens.invite(operator, positiveMs(lifetime, "lifetime"));
  }

  /** Starts an HTTP server for this console. Default: 127.0.0.1:7007. Rejects if the port is taken. */
  async listen(options: ListenOptions = {}): Promise<ConsoleServer> {
    return listen(this, this.#options.path, options);
  }

  /** Ends all live updates. Requests are still answered. */
  close(): void {
    this.#closing.abort();
    void this.#context.close();
    this.#live.close();
  }

  /** @internal */
  async answer(request: Request, arrival: Arrival): Promise<Response> {
    try {
      this.#arrivals.set(request, arrival);
      this.#origins.checkHost(request);
      return await this.#dispatch(request, arrival);
    } catch (error) {
      if (isUnforeseen(error)) {
        this.#amends.context.warn({ error: errorLabel(error) }, "amends: a request to the console failed");
      }
      return problemAnswer(error);
    }
  }

  async #dispatch(request: Request, arrival: Arrival): Promise<Response> {
    const url = new URL(request.url);
    const { path: mount } = this.#options;
    const isMount = arrival.mount === undefined && mount !== "" && url.pathname === mount;
    const redirect = arrival.redirect ?? (isMount ? `${mount}/${url.search}` : undefined);
    // Everything on the page is found relative to it: without the slash at its end it would be looked for elsewhere.
    if (redirect !== undefined) return answer(null, 308, { location: redirect });
    const below = arrival.mount === undefined && url.pathname.startsWith(`${mount}/`);
    const path = below ? url.pathname.slice(mount.length) : url.pathname;
    const method = request.method === "HEAD" ? "GET" : request.method;
    const response = path.startsWith("/api/")
      ? await this.#call(request, method, path, url.searchParams)
      : this.#page(method, path, arrival.accepts ?? null);
    return request.method === "HEAD" ? new Response(null, response) : response;
  }

  #page(method: string, path: string, accepts: string | null): Response {
    if (method !== "GET") throw wrongMethod(["GET"]);
    const page = this.#assets.serve(path, accepts);
    if (!page) throw noPage();
    return page;
  }

  async #call(request: Request, method: string, path: string, search: URLSearchParams): Promise<Response> {
    const found = find(this.routes, method, path);
    if (!("route" in found)) throw found.length > 0 ? wrongMethod(found) : noRoute();
    const { route, id } = found;
    const visitor = await this.#guard.identify(request, this.#callerOf(request), route.access);
    this.#guard.check(request, route.access, visitor);
    const query = readAll(route.query ?? {}, readSearch(search));
    const body = route.body ? readAll(route.body, await readBody(request)) : {};
    const value = await route.handle({
      id,
      query,
      body,
      who: visitor?.operator,
      session: visitor?.session,
      request,
    });
    if (value instanceof Response) return value;
    return method === "GET" ? tagged(value, request) : json(value);
  }

  #mountOf(request: Request): string {
    const mount = this.#arrivals.get(request)?.mount ?? this.#options.path;
    return mount === "" ? "/" : mount;
  }

  #callerOf(request: Request): string {
    return this.#options.caller?.(request) ?? this.#arrivals.get(request)?.caller ?? "";
  }
}

/** A parameter that is given twice means nothing. */
function readSearch(search: URLSearchParams): Readonly<Record<string, string>> {
  const given = [...search];
  const fields = Object.fromEntries(given);
  if (Object.keys(fields).length === given.length) return fields;
  throw new Refused(400, { code: "BAD_INPUT", message: "Each parameter may be given once." });
}

function noRoute(): Refused {
  const message = "No such route. api/openapi.json lists all routes.";
  return new Refused(404, { code: "NOT_FOUND", message });
}

/** The usual cause: the option `path` does not match the mount. */
function noPage(): Refused {
  const message = "No such page. If the console is mounted below a path, pass it as `path`.";
  return new Refused(404, { code: "NOT_FOUND", message });
}

function wrongMethod(methods: readonly string[]): Refused {
  const allow = [...new Set(methods)].join(", ");
  return new Refused(405, { code: "WRONG_METHOD", message: `Method not allowed. Use ${allow}.` }, { allow });
}

function readVersion(): string {
  try {
    const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
    return (JSON.parse(text) as { version?: string }).version ?? "";
  } catch {
    return "";
  }
}
