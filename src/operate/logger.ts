/** Where Amends writes what operators should know. pino fits as it is. Never personal data: ids, names and labels. */
export interface Logger {
  /** Something that an operator may want to know. */
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Something that an operator should look at. */
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  /** Something that needs a person now. */
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

/** Says nothing: the library does not write where nobody asked it to. */
export const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Of a mistake of our own everything is told: it says nothing of anybody. */
export function stackOf(error: unknown): string {
  return String((error as Error | undefined)?.stack ?? error);
}
