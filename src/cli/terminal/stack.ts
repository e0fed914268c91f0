/** An error with its stack and its causes, for AMENDS_DEBUG and `amends dev`. */
export function stackText(error: unknown): string {
  const { stack, cause } = (error ?? {}) as { stack?: unknown; cause?: unknown };
  const own = typeof stack === "string" ? stack : String(error);
  return cause === undefined ? own : `${own}\ncaused by ${stackText(cause)}`;
}
