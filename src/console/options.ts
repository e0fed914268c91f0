/** The options of a console. */
import { positiveMs, type Duration } from "../core/duration.ts";
import { AmendsError } from "../core/errors.ts";
import { refuseUnknown } from "../core/options.ts";
import type { Operator } from "./session/operator.ts";
import type { ConsoleToken } from "./session/tokens.ts";

/** The options of `createConsole`. */
export interface ConsoleOptions {
  /**
   * The tokens that sign in, each with the name and the roles of its operator. A function is called at the first request,
   * so that a build can load the file without the tokens. Default: none; `console.invite()` makes one-time tokens.
   */
  readonly tokens?: readonly ConsoleToken[] | (() => readonly ConsoleToken[]);
  /**
   * Your application's own sign-in: returns the operator of a request, or undefined or null if the request is not
   * signed in.
   */
  readonly authorize?: (
    request: Request,
  ) => Operator | undefined | null | Promise<Operator | undefined | null>;
  /**
   * The path below which the console is mounted, such as "/console". Leave it out if the framework strips the path.
   * Default: the root.
   */
  readonly path?: string;
  /** The public origin of the console, such as "https://ops.example.com". Not needed on a loopback address. */
  readonly origin?: string;
  /**
   * Further values of the Host header that are accepted, with or without a port. Without a port, any port is accepted.
   */
  readonly hosts?: readonly string[];
  /**
   * Signs session cookies: at least 32 characters. Processes with the same secret accept one another's sessions.
   * Default: a random secret, so that a restart ends all sessions.
   */
  readonly secret?: string;
  /** How long a session lasts. Default: 12h. */
  readonly session?: Duration;
  /**
   * The readiness check fails once due work has waited, or the worker has not looked for work, for this long. Default:
   * 5m.
   */
  readonly stuckAfter?: Duration;
  /**
   * Returns the client's address behind a proxy; wrong tokens are counted per address. Default: the address of the
   * connection.
   */
  readonly caller?: (request: Request) => string;
  /** The folder of the built pages. Default: the one in the package. */
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
/** These are path segments of our routes: a mount with such a name could not be told from a route. */
const AMBIGUOUS = ["/api", "/assets"];

export interface CheckedOptions extends Omit<ConsoleOptions, "session" | "stuckAfter" | "path"> {
  readonly tokens: NonNullable<ConsoleOptions["tokens"]>;
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
