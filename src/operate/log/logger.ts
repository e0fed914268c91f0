/** Where Amends writes its log. A pino logger fits as it is. Fields hold ids, names and labels, never personal data. */
export interface Logger {
  /** Logs that a problem is over. */
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Logs a problem that Amends handles, such as a failed hook or an unreachable database. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Logs a problem that needs an operator, such as a stalled saga, or an unexpected error. */
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** A logger that fails must not fail what it reports on. */
export function guarded(logger: Logger): Logger {
  const guard =
    (level: keyof Logger): Logger["info"] =>
    (fields, message) => {
      try {
        logger[level](fields, message);
      } catch {
        // There is nowhere left to report it.
      }
    };
  return { info: guard("info"), warn: guard("warn"), error: guard("error") };
}

/** Logs nothing: the default. */
export const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The whole stack of an internal error: it contains no personal data. */
export function stackOf(error: unknown): string {
  return String((error as Error | undefined)?.stack ?? error);
}
