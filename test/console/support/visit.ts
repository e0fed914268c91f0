/** A console on a test's database, and browsers and programs that visit it. */
import type { Amends } from "amends";
import { createConsole, type Console, type ConsoleOptions, type Role } from "amends/console";

export const ORIGIN = "http://127.0.0.1:7077";

export const TOKENS = {
  reader: { name: "Rea", roles: ["read"], token: "reader-token-of-32-characters-000" },
  operator: { name: "Otto", roles: ["operate"], token: "operator-token-of-32-characters-0" },
  revealer: { name: "Reva", roles: ["reveal"], token: "revealer-token-of-32-characters-0" },
} as const satisfies Record<string, { name: string; roles: readonly Role[]; token: string }>;

export type Person = keyof typeof TOKENS;

export interface Ask {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON, unless it is a text. */
  readonly body?: unknown;
}

export interface Visit {
  readonly console: Console;
  /** A request as it is: nobody is behind it unless its headers say so. */
  ask(path: string, ask?: Ask): Promise<Response>;
  /** A program with this person's token. */
  as(person: Person, path: string, ask?: Ask): Promise<Response>;
  /** The same, where JSON comes back and all is well. */
  get<T>(person: Person, path: string): Promise<T>;
  post<T>(person: Person, path: string, body: unknown): Promise<T>;
}

export function visit(amends: Amends, options: ConsoleOptions = {}): Visit {
  const console = createConsole(amends, { tokens: Object.values(TOKENS), ...options });
  const ask: Visit["ask"] = (path, { method = "GET", headers = {}, body } = {}) =>
    console.fetch(
      new Request(`${ORIGIN}${path}`, {
        method,
        headers: { host: "127.0.0.1:7077", ...headers },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      }),
    );
  const as: Visit["as"] = (person, path, { headers, ...rest } = {}) =>
    ask(path, { ...rest, headers: { ...program(person), ...headers } });
  const read = async <T>(response: Response): Promise<T> => {
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${response.status} ${text}`);
    return JSON.parse(text) as T;
  };
  return {
    console,
    ask,
    as,
    get: async (person, path) => read(await as(person, path)),
    post: async (person, path, body) => read(await as(person, path, { method: "POST", body })),
  };
}

/** What a program sends that has a token. */
export function program(person: Person): Readonly<Record<string, string>> {
  return {
    authorization: `Bearer ${TOKENS[person].token}`,
    "x-amends-console": "1",
    "content-type": "application/json",
  };
}

/** What a browser sends from the console's own page. */
export const PAGE: Readonly<Record<string, string>> = {
  "sec-fetch-site": "same-origin",
  "x-amends-console": "1",
  "content-type": "application/json",
};
