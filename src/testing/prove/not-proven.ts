/** The error of a failed proof. */
import { AmendsError } from "../../core/errors.ts";
import type { ProveReport } from "./script.ts";

/** The number of failures that are reported in full: the first ones are the simplest. */
const TOLD = 5;

export function notProven(name: string, { schedules, failures }: ProveReport): AmendsError {
  const listed = failures
    .slice(0, TOLD)
    .map(({ seed, schedule, outcome, problem }) =>
      [`- ${schedule}`, `  ${outcome?.status ?? "no end"}: ${problem}`, `  seed: ${seed}`].join("\n"),
    );
  const rest = failures.length > TOLD ? [`and ${failures.length - TOLD} more`] : [];
  const lines = [
    `Saga ${name} is not proven: ${failures.length} of ${schedules} schedules went wrong.`,
    ...listed,
    ...rest,
    "Give `seed` to `prove` to repeat one of them alone.",
  ];
  return new AmendsError("NOT_PROVEN", lines.join("\n"), { seeds: failures.map(({ seed }) => seed) });
}
