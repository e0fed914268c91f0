/**
 * An error in one line, and what to do about it in another. Messages of refusals are printed; for any other error only
 * the label, and the stack only with AMENDS_DEBUG. Passwords and tokens are removed from both.
 */
import { AmendsError, errorLabel, type ErrorCode } from "../../core/errors.ts";
import type { ExitCode } from "./world.ts";

/** Invalid usage of a command. */
export class UsageError extends Error {
  /** The command whose help is relevant. */
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}

/** An error; `advice` says what to do. */
export class Trouble extends Error {
  readonly advice: string | undefined;
  readonly code: string;

  constructor(code: string, message: string, advice?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.advice = advice;
  }
}

export interface Failure {
  readonly exit: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly advice: string | undefined;
}

export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) {
    const help = error.command === undefined ? "amends --help" : `amends ${error.command} --help`;
    return { exit: 2, code: "USAGE", message: error.message, advice: `See ${help}` };
  }
  if (error instanceof Trouble)
    return { exit: 1, code: error.code, message: error.message, advice: error.advice };
  if (error instanceof AmendsError) return refusal(error);
  const { code, message, port } = (error ?? {}) as { code?: unknown; message?: unknown; port?: unknown };
  if (code === "EADDRINUSE") return portTaken(port);
  if (code === "EACCES" || code === "EPERM")
    return failed(code, "The system does not allow it.", "Look at the rights of the file or of the port.");
  const why = error instanceof SyntaxError && typeof message === "string" ? `: ${message}` : "";
  return failed(
    "UNEXPECTED",
    `Unexpected error: ${errorLabel(error)}${why}`,
    "Set AMENDS_DEBUG=1 to print the stack.",
  );
}

const PORT_MAX = 65_535;

function portTaken(port: unknown): Failure {
  if (typeof port !== "number")
    return failed("PORT_TAKEN", "The port is in use by another program.", "Use a free one: --port 0");
  const next = port < PORT_MAX ? port + 1 : port - 1;
  const advice = `Use another one: --port ${next}, or --port 0 for any free one.`;
  return failed("PORT_TAKEN", `Port ${port} is in use by another program.`, advice);
}

function failed(code: string, message: string, advice: string): Failure {
  return { exit: 1, code, message, advice };
}

const ADVICE: Partial<Record<ErrorCode, string>> = {
  SCHEMA_MISSING: "Run: amends migrate",
  SCHEMA_TOO_NEW: "Update the amends package here.",
  SAGA_NOT_FOUND: "amends list shows what there is.",
};

/** Errors of the server during sign-in. Their texts name users and databases, which are no secrets. */
const REFUSED_AT_THE_DOOR: Readonly<Record<string, readonly [message: string, advice: string]>> = {
  "28P01": [
    "The database does not accept this user's password.",
    "Check the user and the password in the URL.",
  ],
  "28000": ["The database refuses this user.", "Check the user in the URL, and the server's pg_hba.conf."],
  "3D000": [
    "There is no such database on this server.",
    "Check the name at the end of the URL, or create the database.",
  ],
  "42501": ["This database user may not do that.", "Grant it the right, or use another user."],
};

const NETWORK: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "its name is not known",
  EAI_AGAIN: "its name cannot be looked up now",
  ETIMEDOUT: "it did not answer in time",
  EHOSTUNREACH: "there is no way to it",
  ENETUNREACH: "there is no way to it",
  ECONNRESET: "it cut the connection",
};

function refusal(error: AmendsError): Failure {
  const cause = (error.cause ?? {}) as { code?: unknown; errors?: readonly { code?: unknown }[] };
  const given = cause.code ?? cause.errors?.[0]?.code;
  const code = typeof given === "string" ? given : "";
  const [message, advice] = REFUSED_AT_THE_DOOR[code] ?? [];
  if (message !== undefined) return { exit: 1, code: error.code, message, advice };
  if (error.code === "SCHEMA_MISSING")
    return failed(
      error.code,
      "Amends' tables are missing here, or older than this version.",
      "Run: amends migrate",
    );
  if (error.code === "DATABASE_UNREACHABLE" && Object.hasOwn(NETWORK, code)) {
    const { address } = error.details;
    const place = typeof address === "string" ? ` at ${address}` : "";
    const text = `The database${place} cannot be reached: ${NETWORK[code]}.`;
    return failed(error.code, text, "Look at the host and the port in the URL, and whether the server runs.");
  }
  return { exit: 1, code: error.code, message: error.message, advice: ADVICE[error.code] };
}

/** For messages of others, such as a user's own file: what was given as a secret is not in them. */
export function without(secrets: readonly string[], text: string): string {
  return secrets.reduce((masked, secret) => (secret === "" ? masked : masked.replaceAll(secret, "…")), text);
}
