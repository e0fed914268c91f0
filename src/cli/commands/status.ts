/** `amends status`: all parts at a glance, and what needs attention. */
import type { AttentionLine, Count, Health, Overview, Page } from "../../console/contract.ts";
import { attentionTable } from "../terminal/attention-table.ts";
import { SOURCE, withApi, type Api } from "../source/api.ts";
import { command, type Command } from "../program/command.ts";
import { ink, joined, paint, type Ink } from "../terminal/ink.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { HEARD_MS } from "../../operate/workers.ts";
import { RUN_LATE_MS, RUNS_ADVICE, runsText, SILENT_ADVICE, silenceText } from "../terminal/silence.ts";
import { many, span, state } from "../terminal/words.ts";
import type { Output } from "../terminal/output.ts";
import type { ExitCode } from "../program/world.ts";

const SHOWN = 5;
/** A worker that runs takes due work within its poll interval: a few of them have passed. */
const UNTAKEN_MS = 10_000;

interface Status {
  readonly overview: Overview;
  readonly health: Health;
  readonly attention: Page<AttentionLine>;
}

export const status: Command = command({
  name: "status",
  group: "Look",
  summary: "Counts of all parts, the age of the backlog, and what needs attention.",
  about:
    "Exits with 3 if something needs attention, and with 1 if overdue work is not being processed: a cron job can watch it.",
  options: { ...SOURCE, ...JSON_OUT },
  examples: [
    ["amends status", "of the database in amends.config.ts or DATABASE_URL"],
    ["amends status --database shop.db", "of a SQLite file"],
    ["amends status --console http://127.0.0.1:7007 --json", "of a running console, for a program"],
  ],
  run: async ({ options, output, world }) =>
    withApi(options, world, async (api) => {
      const found = await read(api);
      const isFine = found.overview.attention.value === 0 && found.health.status === "ok";
      output.document({
        ok: isFine,
        ...found.overview,
        health: found.health,
        needsPerson: found.attention.items,
      });
      show(output, api, found, world.nowMs());
      if (found.health.status !== "ok") return 1 satisfies ExitCode;
      return (isFine ? 0 : 3) satisfies ExitCode;
    }),
});

async function read(api: Api): Promise<Status> {
  const overview = await api.get<Overview>("/api/overview");
  const attention = await api.get<Page<AttentionLine>>("/api/attention", { limit: SHOWN });
  return { overview, attention, health: await api.health() };
}

function show(output: Output, api: Api, { overview, health, attention }: Status, nowMs: number): void {
  const { sagas, backlog, outbox, flows, deliveries } = overview;
  // Without a worker, the line of the runs says whether due work waits for too long.
  const hasRuns = health.workers === 0 && typeof health.runMsAgo === "number";
  const parts: readonly (readonly [string, Readonly<Record<string, Count>> | null])[] = [
    ["sagas", sagas.byStatus],
    ["outbox", outbox],
    ["flows", flows],
    ["deliveries", deliveries],
  ];
  output.say(ink`${paint("bold", "Amends")} ${paint("dim", api.shown)}`);
  output.say();
  for (const [name, counts] of parts)
    if (counts)
      output.say(
        ink`  ${name.padEnd(12)}${countsOf(counts, name === "outbox" ? "nothing open" : "nothing")}`,
      );
  output.say(ink`  ${"backlog".padEnd(12)}${backlogOf(backlog)}`);
  if (typeof health.workers === "number")
    output.say(ink`  ${"workers".padEnd(12)}${workersOf(health, health.workers, backlog.oldestMs)}`);
  const { p50Ms, p95Ms, sample } = sagas.latency;
  if (p50Ms !== null && p95Ms !== null)
    output.say(
      ink`  ${"latency".padEnd(12)}p50 ${span(p50Ms)}, p95 ${span(p95Ms)} ${paint("dim", `(${many(sample, "saga")} of the last hour)`)}`,
    );
  if (health.status !== "ok") {
    const why = health.checks?.find(({ ok }) => !ok)?.detail;
    output.say(
      ink`  ${"progress".padEnd(12)}${paint("red", "overdue work is not being processed")}${why === undefined ? "" : `: ${why}`}. Start a worker: amends worker`,
    );
  } else if (!hasRuns && backlog.due.value > 0 && backlog.oldestMs > UNTAKEN_MS)
    output.say(
      ink`  ${"progress".padEnd(12)}${paint("yellow", `no worker has taken the oldest due saga for ${span(backlog.oldestMs)}`)}. Is one running? amends worker`,
    );
  output.say();
  const { value } = overview.attention;
  if (value === 0) return output.say(ink`${paint("green", "Nothing needs attention.")}`);
  output.say(
    ink`${paint("red", `${countText(overview.attention)} ${value === 1 ? "item needs" : "items need"} attention.`)}`,
  );
  attentionTable(output, attention.items, nowMs, "  ");
  if (value > attention.items.length)
    output.say(ink`  ${paint("dim", "All of them: amends list attention")}`);
}

/** Entries of the outbox that are done are not counted. */
function countsOf(counts: Readonly<Record<string, Count>>, none: string): Ink {
  const shown = Object.entries(counts).filter(([, { value }]) => value > 0);
  if (shown.length === 0) return paint("dim", none);
  return joined(
    shown.map(([name, count]) => ink`${countText(count)} ${state(name)}`),
    "  ",
  );
}

function countText({ value, exact }: Count): string {
  return `${value.toLocaleString("en")}${exact ? "" : "+"}`;
}

function workersOf(health: Health, running: number, oldestMs: number): Ink {
  const { runMsAgo = null } = health;
  if (running > 0) {
    const silentMs = health.silentMs ?? 0;
    const text = `${running.toLocaleString("en")} running${silenceText(running, silentMs)}`;
    return silentMs < HEARD_MS ? ink`${text}` : ink`${paint("yellow", text)}. ${SILENT_ADVICE}`;
  }
  if (runMsAgo !== null && oldestMs <= RUN_LATE_MS) return ink`${runsText(runMsAgo)}`;
  if (runMsAgo !== null) return ink`${paint("yellow", runsText(runMsAgo))}. ${RUNS_ADVICE}`;
  return ink`${paint("red", "no worker is running")}: nothing is processed. Start one: amends worker`;
}

function backlogOf({ due, oldestMs }: Overview["backlog"]): Ink {
  if (due.value === 0) return paint("dim", "nothing is due");
  return ink`${countText(due)} due, the oldest for ${span(oldestMs)}`;
}
