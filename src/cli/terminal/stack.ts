/** An error with its stack and its causes, for AMENDS_DEBUG and `amends dev`. */
export function stackText(error: unknown): string {
  const { stack, cause } = (error ?? {}) as { stack?: unknown; cause?: unknown };
  const own = shortened(typeof stack === "string" ? stack : String(error));
  return cause === undefined ? own : `${own}\ncaused by ${stackText(cause)}`;
}

/** Loaders of TypeScript name a file by its whole text, as a `data:` URL. */
export function shortened(text: string): string {
  return text.replaceAll(/data:[^\s'")]{40,}/g, "data:…");
}
