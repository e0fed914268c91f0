/** What a console may be told. */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Operator } from "./session/operator.ts";
import type { ConsoleToken } from "./session/tokens.ts";

/** The options of `createConsole`. */
export interface ConsoleOptions {
  /** Who may come in with which token, and what they may do. Without tokens, an address that works once is made. */
  readonly tokens?: readonly ConsoleToken[];
  /** Your application's own sign-in, where the console is mounted in it: who is it, and what may they do? */
  readonly authorize?: (
    request: Request,
  ) => Operator | undefined | null | Promise<Operator | undefined | null>;
  /** Where it is mounted, such as "/console", unless whoever mounts it takes that part of the address away. */
  readonly path?: string;
  /** Where people find it, such as "https://ops.example.com", unless that is a loopback address. */
  readonly origin?: string;
  /** Further names under which it may be called, with a port or for any. */
  readonly hosts?: readonly string[];
  /** Signs sessions. With the same one, several processes take one another's; without, a restart ends them. */
  readonly secret?: string;
  /** How long a session lasts. Default: 12h. */
  readonly session?: Duration;
  /** The console is not ready once due work has waited for this long. Default: 5m. */
  readonly stuckAfter?: Duration;
  /** Who is calling, for counting wrong tokens, where a proxy stands in front. */
  readonly caller?: (request: Request) => string;
  /** Where the built pages are, if they are not where the package has them. */
  readonly assets?: string;
}

const KNOWN = [
  "tokens",
  "authorize",
  "path",
  "origin",
  "hosts",
  "secret",
  "session",
  "stuckAfter",
  "caller",
  "assets",
];

const SECRET_MIN = 32;
/** These stand in our own addresses: nobody could tell a mount from a route. */
const AMBIGUOUS = ["/api", "/assets"];

export interface CheckedOptions extends Omit<ConsoleOptions, "session" | "stuckAfter" | "path"> {
  readonly tokens: readonly ConsoleToken[];
  readonly hosts: readonly string[];
  /** Empty for the root; otherwise with a slash at its beginning alone. */
  readonly path: string;
  readonly sessionMs: number;
  readonly stuckAfterMs: number;
}

export function checkOptions(options: ConsoleOptions): CheckedOptions {
  refuseUnknown(options, KNOWN, "A console");
  const { tokens = [], hosts = [], secret, session = "12h", stuckAfter = "5m", ...rest } = options;
  const path = (options.path ?? "").replace(/\/+$/, "");
  if (path !== "" && (!/^(?:\/[\w.~-]+)+$/.test(path) || AMBIGUOUS.includes(path))) {
    throw new AmendsError("BAD_OPTION", '`path` must be like "/console", and neither "/api" nor "/assets".');
  }
  if (secret !== undefined && secret.length < SECRET_MIN) {
    throw new AmendsError("BAD_OPTION", `\`secret\` must have at least ${SECRET_MIN} characters.`);
  }
  return {
    ...rest,
    ...(secret !== undefined && { secret }),
    tokens,
    hosts,
    path,
    sessionMs: positiveMs(session, "session"),
    stuckAfterMs: positiveMs(stuckAfter, "stuckAfter"),
  };
}
