/** Prometheus text: what this process did, and how the database stands. Names and states are labels, ids never are. */
import { OPEN as OPEN_DELIVERIES } from "../../core/delivery/machine.ts";
import { OPEN_FLOWS } from "../../core/flow/machine.ts";
import { OUTBOX_KINDS } from "../../core/outbox/entry.ts";
import { BLOCKING as OPEN_ENTRIES } from "../../core/outbox/machine.ts";
import { CLAIMABLE, type SagaStatus } from "../../core/saga/machine.ts";
import type { Row } from "../../storage/database.ts";
import { dueAges } from "../../operate/backlog.ts";
import { selectDueSagas } from "../../operate/backlog-queries.ts";
import { countFlows } from "../flows/queries.ts";
import type { ConsoleContext } from "../context.ts";
import { countEntries } from "../outbox/queries.ts";
import { backlogOf, COUNT_MAX } from "../overview/overview.ts";
import { countStatuses } from "../sagas/queries.ts";
import { countDeliveries } from "../webhooks/queries.ts";

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly values: readonly (readonly [labels: string, value: number])[];
}

const COUNTED: Readonly<Record<string, string>> = {
  started: "Sagas that were started here.",
  claimed: "Sagas that this process took over.",
  recovered: "Sagas that were taken over from a worker that vanished.",
  completed: "Sagas that completed here.",
  failed: "Sagas that ended here with everything undone.",
  stalled: "Sagas that stalled here.",
  released: "Sagas that were given back here.",
  lost: "Claims that were lost to another worker.",
};

const OPEN: readonly SagaStatus[] = [...CLAIMABLE, "STALLED"];

export async function metricsText(context: ConsoleContext): Promise<string> {
  const { amends, db } = context;
  const [counts = {}] = await context.query(countStatuses(db.dialect, OPEN, COUNT_MAX));
  const backlog = backlogOf(await context.query(selectDueSagas(db.dialect, COUNT_MAX)));
  const ages = await dueAges({ dialect: db.dialect, query: context.query });
  const [entries = {}] = await context.query(countEntries(db.dialect, OUTBOX_KINDS, COUNT_MAX));
  const [flows = {}] = await context.query(countFlows(db.dialect, COUNT_MAX));
  const [deliveries = {}] = await context.query(countDeliveries(db.dialect, COUNT_MAX));
  const counters = amends.counters as unknown as Readonly<Record<string, number>>;
  const answeredMsAgo = amends.context.answeredMsAgo();
  const metrics: Metric[] = [
    ...Object.entries(COUNTED).map(([name, help]): Metric => ({
      name: `amends_sagas_${name}_total`,
      help,
      kind: "counter",
      values: [["", counters[name] ?? 0]],
    })),
    {
      name: "amends_sagas",
      help: `Sagas that have not ended, by state, counted up to ${COUNT_MAX}.`,
      kind: "gauge",
      values: OPEN.map((status) => [
        `{status="${status}"}`,
        Math.min(Number(counts[status.toLowerCase()]), COUNT_MAX),
      ]),
    },
    gauge("amends_due", `Sagas that are due, counted up to ${COUNT_MAX}.`, backlog.due.value),
    {
      name: "amends_oldest_due_seconds",
      help: "How long the oldest due work of each part has waited.",
      kind: "gauge",
      values: Object.entries(ages).map(([part, ageMs]) => [`{part="${part}"}`, ageMs / 1_000]),
    },
    byStatus("amends_outbox_entries", "Open entries of the outbox", entries, OPEN_ENTRIES),
    byStatus("amends_flows", "Runs of event flows that have not ended", flows, OPEN_FLOWS),
    byStatus(
      "amends_webhook_deliveries",
      "Webhook deliveries that have not ended",
      deliveries,
      OPEN_DELIVERIES,
    ),
    ...(answeredMsAgo === undefined
      ? []
      : [
          gauge(
            "amends_worker_last_look_seconds",
            "How long ago the database last answered the worker.",
            answeredMsAgo / 1_000,
          ),
        ]),
  ];
  return metrics.map(textOf).join("");
}

function byStatus(name: string, what: string, counts: Row, statuses: readonly string[]): Metric {
  return {
    name,
    help: `${what}, by state, counted up to ${COUNT_MAX}.`,
    kind: "gauge",
    values: statuses.map((status) => [
      `{status="${status}"}`,
      Math.min(Number(counts[status] ?? counts[status.toLowerCase()]), COUNT_MAX),
    ]),
  };
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, kind: "gauge", values: [["", value]] };
}

function textOf({ name, help, kind, values }: Metric): string {
  const lines = values.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}
