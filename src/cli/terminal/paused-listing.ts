/** What is paused: names and sagas, since when, by whom and why. */
import type { PausedLine } from "../../console/contract-parts.ts";
import { ink, type Ink } from "./ink.ts";
import { ago } from "./words.ts";

const WHAT: Readonly<Record<PausedLine["kind"], string>> = { id: "saga", saga: "sagas of", call: "calls of" };

export const pausedListing = {
  path: "/api/paused",
  states: [],
  query: () => ({}),
  fits: (item: PausedLine, { name }: { readonly name: string | undefined }): boolean =>
    name === undefined || item.name === name,
  columns: [
    { title: "PAUSED" },
    { title: "NAME", least: 8 },
    { title: "ID" },
    { title: "SINCE" },
    { title: "BY" },
    { title: "REASON", least: 12 },
  ],
  row: ({ kind, name, id, since, by, reason }: PausedLine, nowMs: number): readonly Ink[] => [
    ink`${WHAT[kind]}`,
    ink`${name}`,
    ink`${id ?? ""}`,
    ink`${ago(since, nowMs)}`,
    ink`${by ?? ""}`,
    ink`${reason}`,
  ],
} as const;
