/**
 * The console's HTTP API, from here: of a console that runs elsewhere, or of one in this very process on a database that
 * was opened for it. Both are asked the same, so that a command works on both, is allowed the same, and is audited alike.
 */
import { randomBytes } from "node:crypto";
import { userInfo } from "node:os";
import { Console } from "../../console/console.ts";
import type { Health, Problem } from "../../console/contract.ts";
import { auditHead } from "../../audit/verify.ts";
import { DatabaseAuditSink } from "../../audit/database-sink.ts";
import { Outbox } from "../../erasure/remote/outbox.ts";
import { checkSchema } from "../../storage/migrations/migrate.ts";
import { text, type TextOption } from "../program/command.ts";
import { Trouble, UsageError } from "../program/failure.ts";
import { sse, type ServerEvent } from "./server-events.ts";
import { DATABASE, openLocal, type DatabaseChoice, type Local } from "./source.ts";
import type { World } from "../program/world.ts";

export const SOURCE: typeof DATABASE & { readonly console: TextOption; readonly token: TextOption } = {
  ...DATABASE,
  console: text("URL", "A running console, as `amends console` prints its address."),
  token: text("TOKEN", "For the console. Better in AMENDS_TOKEN: a command line can be seen by others."),
};

export interface SourceChoice extends DatabaseChoice {
  readonly console: string | undefined;
  readonly token: string | undefined;
  /** Who is acting, for the audit trail. */
  readonly by?: string | undefined;
}

/** What the API refused. */
export class Refusal extends Trouble {
  readonly status: number;

  constructor(status: number, { code, message }: Problem, advice?: string) {
    super(code, message, advice);
    this.status = status;
  }
}

export interface Api {
  /** For people: where it is. */
  readonly shown: string;
  /** Undefined where a console elsewhere is asked. */
  readonly local: Local | undefined;
  get<T>(path: string, query?: Readonly<Record<string, string | number | undefined>>): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  /** Whether work gets on, and what was found where it does not. */
  health(): Promise<Health>;
  live(path: string, signal: AbortSignal): AsyncGenerator<ServerEvent, void, void>;
  close(): Promise<void>;
}

type Fetch = (path: string, init: RequestInit) => Promise<Response>;

/** Opens what was chosen, works on it, and closes it whatever happens. */
export async function withApi<const T>(
  choice: SourceChoice,
  world: World,
  work: (api: Api) => Promise<T>,
): Promise<T> {
  const api = await openApi(choice, world);
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

async function openApi(choice: SourceChoice, world: World): Promise<Api> {
  const isLocal = choice.database !== undefined || choice.config !== undefined;
  const address = choice.console ?? (isLocal ? undefined : world.env["AMENDS_CONSOLE"]);
  if (choice.console !== undefined && isLocal)
    throw new UsageError("Give --console, or --database and --config: not both.");
  if (address !== undefined && address !== "") return remoteApi(address, choice, world);
  const local = await openLocal(choice, world);
  try {
    await checkSchema(local.database);
    return await localApi(local, choice.by ?? whoami());
  } catch (error) {
    await local.amends.close();
    throw error;
  }
}

export function whoami(): string {
  try {
    return userInfo().username;
  } catch {
    return "cli";
  }
}

async function localApi(local: Local, by: string): Promise<Api> {
  const token = randomBytes(24).toString("base64url");
  const requeues = local.amends.parts.erasure?.outbox ?? (await plainOutbox(local));
  const tokens = [{ token, name: by, roles: ["read", "operate", "reveal"] } as const];
  const console = new Console(local.amends, { tokens }, requeues);
  const fetch: Fetch = (path, init) => console.fetch(new Request(`http://localhost${path}`, init));
  return client(fetch, token, local.shown, {
    local,
    close: async () => {
      console.close();
      await local.amends.close({ deadline: 0 });
    },
  });
}

/** A trail that is chained has a key, which only the application knows: without it nothing may be added. */
async function plainOutbox({ database }: Local): Promise<Outbox | undefined> {
  const { link } = await auditHead(database);
  return link === 0 ? new Outbox(database, { audit: new DatabaseAuditSink(database) }) : undefined;
}

function remoteApi(address: string, choice: SourceChoice, world: World): Api {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    throw new UsageError("--console is the address of a console, such as http://127.0.0.1:7007");
  const token =
    choice.token ?? new URLSearchParams(url.hash.slice(1)).get("token") ?? world.env["AMENDS_TOKEN"];
  if (token === undefined || token === "")
    throw new UsageError("A console asks for a token: set AMENDS_TOKEN, or give --token.");
  if (choice.by !== undefined)
    throw new UsageError("--by is for a database: at a console, the token says who you are.");
  const base = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  const fetch: Fetch = async (path, init) => {
    try {
      return await globalThis.fetch(`${base}${path}`, { ...init, redirect: "error" });
    } catch (error) {
      if ((error as { name?: unknown }).name === "AbortError") throw error;
      throw new Trouble(
        "CONSOLE_UNREACHABLE",
        `The console at ${base} does not answer.`,
        "Is it running there? amends console starts one.",
        { cause: error },
      );
    }
  };
  return client(fetch, token, base, { local: undefined, close: async () => undefined });
}

function client(fetch: Fetch, token: string, shown: string, rest: Pick<Api, "local" | "close">): Api {
  const headers = { authorization: `Bearer ${token}`, "x-amends-console": "1" };
  const read = async <T>(response: Response): Promise<T> => {
    if (!response.ok) throw await refusalOf(response, shown);
    try {
      return (await response.json()) as T;
    } catch {
      throw notOurs(response, shown);
    }
  };
  return {
    ...rest,
    shown,
    get: async (path, query = {}) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query))
        if (value !== undefined) search.set(name, String(value));
      return read(await fetch(search.size === 0 ? path : `${path}?${search.toString()}`, { headers }));
    },
    post: async (path, body) =>
      read(
        await fetch(path, {
          method: "POST",
          headers: { ...headers, "content-type": "application/json" },
          body: JSON.stringify(body),
        }),
      ),
    health: async () => {
      const response = await fetch("/api/ready", { headers });
      if (response.status === UNAVAILABLE) return (await response.json()) as Health;
      return read(response);
    },
    live: async function* (path, signal) {
      const response = await fetch(path, { headers, signal });
      if (!response.ok) throw await refusalOf(response, shown);
      yield* sse(response, signal);
    },
  };
}

/** Not ready: the answer says why. */
const UNAVAILABLE = 503;

async function refusalOf(response: Response, shown: string): Promise<Trouble> {
  const problem = (await response.json().catch(() => undefined)) as Partial<Problem> | undefined;
  const { status } = response;
  if (typeof problem?.code !== "string" || typeof problem.message !== "string")
    return notOurs(response, shown);
  return new Refusal(status, { code: problem.code, message: problem.message }, ADVICE[problem.code]);
}

function notOurs({ status }: Response, shown: string): Trouble {
  return new Trouble("NO_CONSOLE", `What answers at ${shown} is no console of Amends (${status}).`);
}

const ADVICE: Readonly<Record<string, string>> = {
  WRONG_TOKEN:
    "Look at AMENDS_TOKEN, or at --token. The signInUrl of createConsole().listen() is an invitation for a browser: programs need one of the console's `tokens`.",
  SIGN_IN: "Set AMENDS_TOKEN, or give --token.",
  ROLE_MISSING: "Ask for a token with this role.",
  HOST_REFUSED: "Add the name to `hosts` in the options of the console.",
};
