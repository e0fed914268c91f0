/** Where Amends writes what operators should know. pino fits as it is. Never personal data: ids, names and labels. */
export interface Logger {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Says nothing: the library does not write where nobody asked it to. */
export const silent: Logger = { info: () => undefined, warn: () => undefined, error: () => undefined };
