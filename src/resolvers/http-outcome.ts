/** Maps HTTP statuses to outcomes. The `statuses` option takes precedence over the default table. */
import { AmendsError } from "../core/errors.ts";

export const HTTP_OUTCOMES = ["done", "absent", "permanent", "transient"] as const;

/**
 * What a reply means. `done`: the request succeeded. `absent`: the system does not know the ref, which is a success
 * too. `permanent`: the request failed and is not retried. `transient`: the request failed and is retried.
 */
export type HttpOutcome = (typeof HTTP_OUTCOMES)[number];

/**
 * The meaning of HTTP statuses: `{ 409: "absent", "5xx": "permanent" }`. A single status takes precedence over its
 * class.
 */
export type HttpStatuses = Readonly<Partial<Record<number | "2xx" | "3xx" | "4xx" | "5xx", HttpOutcome>>>;

export const HTTP_STATUSES: HttpStatuses = {
  404: "absent",
  410: "absent",
  408: "transient",
  409: "transient",
  423: "transient",
  425: "transient",
  429: "transient",
  "2xx": "done",
  "3xx": "permanent",
  "4xx": "permanent",
  "5xx": "transient",
};

export type Judge = (status: number) => HttpOutcome;

/** The first table with the status decides, then the first with its class (such as 4xx). */
export function judgeOf(...tables: readonly (HttpStatuses | undefined)[]): Judge {
  const all = [...tables, HTTP_STATUSES].filter((table) => table !== undefined);
  return (status) => {
    const hundred = `${Math.floor(status / 100)}xx` as "2xx";
    const exact = all.find((table) => table[status] !== undefined)?.[status];
    return exact ?? all.find((table) => table[hundred] !== undefined)?.[hundred] ?? "permanent";
  };
}

export function checkStatuses(statuses: HttpStatuses | undefined, where: string): void {
  for (const [key, outcome] of Object.entries(statuses ?? {})) {
    if (!/^[2-5](?:\d\d|xx)$/.test(key)) {
      throw new AmendsError(
        "BAD_OPTION",
        `${where}: ${key} is no status. Give one from 200 to 599, or 2xx to 5xx.`,
      );
    }
    if (outcome === undefined || !HTTP_OUTCOMES.includes(outcome)) {
      throw new AmendsError(
        "BAD_OPTION",
        `${where}: status ${key} must mean one of ${HTTP_OUTCOMES.join(", ")}.`,
      );
    }
  }
}
