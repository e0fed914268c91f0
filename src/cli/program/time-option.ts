/** Options that are times. */
import { UsageError } from "./failure.ts";

/** As an instant of ISO 8601; `command` is the one whose help is relevant. */
export function instantOf(
  option: "since" | "until",
  given: string | undefined,
  command: string,
): string | undefined {
  if (given === undefined) return undefined;
  const ms = Date.parse(given);
  if (Number.isFinite(ms)) return new Date(ms).toISOString();
  throw new UsageError(
    `--${option} ${JSON.stringify(given)} is no time. Write it like 2026-11-17T03:00:00Z.`,
    command,
  );
}
