/** Everything that an error says, and what caused it: for whoever asked to see it. */
export function stackText(error: unknown): string {
  const { stack, cause } = (error ?? {}) as { stack?: unknown; cause?: unknown };
  const own = typeof stack === "string" ? stack : String(error);
  return cause === undefined ? own : `${own}\ncaused by ${stackText(cause)}`;
}
