/** What an HTTP status means for whoever asked. The table is the contract; a user's own lines come before it. */
import { AmendsError } from "../core/errors.ts";

export const HTTP_OUTCOMES = ["done", "absent", "permanent", "transient"] as const;

/**
 * `done`: it was carried out. `absent`: nobody is known there under this ref, which is success, too. `permanent`:
 * asking again cannot help. `transient`: ask again later.
 */
export type HttpOutcome = (typeof HTTP_OUTCOMES)[number];

/** A status, or all of a hundred: `{ 409: "absent", "5xx": "permanent" }`. A single status comes before its hundred. */
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

/** The first table that knows the status decides, then the first that knows its hundred. */
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
