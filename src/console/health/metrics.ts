/** Prometheus text: what this process did, and how the database stands. Names and states are labels, ids never are. */
import { ATTENTION_KINDS } from "../../attention/item.ts";
import type { Count } from "../../core/count.ts";
import { OPEN as OPEN_DELIVERIES } from "../../core/delivery/machine.ts";
import { OPEN_FLOWS } from "../../core/flow/machine.ts";
import { BLOCKING as OPEN_ENTRIES } from "../../core/outbox/machine.ts";
import { CLAIMABLE, type SagaStatus } from "../../core/saga/machine.ts";
import { countRuns } from "../../events/read/list.ts";
import { dueAges } from "../../operate/health/backlog.ts";
import { countEntries } from "../../outbox/read/figures.ts";
import { countSagas, dueSagas } from "../../sagas/read/figures.ts";
import { countDeliveries } from "../../webhooks/read/list.ts";
import type { ConsoleContext } from "../context.ts";
import { COUNT_MAX } from "../overview/overview.ts";

interface Metric {
  readonly name: string;
  readonly help: string;
  readonly kind: "counter" | "gauge";
  readonly values: readonly (readonly [labels: string, value: number])[];
}

const COUNTED: Readonly<Record<string, string>> = {
  started: "Sagas that were started here.",
  claimed: "Sagas that this process claimed.",
  recovered: "Sagas that were claimed from a worker that vanished.",
  completed: "Sagas that completed here.",
  failed: "Sagas that ended here with everything undone.",
  stalled: "Sagas that stalled here.",
  released: "Sagas that were given back here.",
  lost: "Claims that were lost to another worker.",
};

const OPEN_SAGAS: readonly SagaStatus[] = [...CLAIMABLE, "STALLED"];

export async function metricsText(context: ConsoleContext): Promise<string> {
  const { amends, reader } = context;
  const { byStatus: sagas } = await countSagas(reader, OPEN_SAGAS, COUNT_MAX);
  const { due } = await dueSagas(reader, COUNT_MAX);
  const ages = await dueAges(reader);
  const entries = await countEntries(reader, COUNT_MAX);
  const runs = await countRuns(reader, COUNT_MAX);
  const deliveries = await countDeliveries(reader, COUNT_MAX);
  const { kinds } = await context.attention();
  const counters = amends.counters as unknown as Readonly<Record<string, number>>;
  const answeredMsAgo = amends.context.workerHealth()?.answeredMsAgo;
  const metrics: Metric[] = [
    ...Object.entries(COUNTED).map(([name, help]): Metric => ({
      name: `amends_sagas_${name}_total`,
      help,
      kind: "counter",
      values: [["", counters[name] ?? 0]],
    })),
    counted("amends_sagas", "Sagas that have not ended, by state", "status", sagas, OPEN_SAGAS),
    gauge("amends_due", `Sagas that are due, counted up to ${COUNT_MAX}.`, due.value),
    {
      name: "amends_oldest_due_seconds",
      help: "How long the oldest due work of each part has waited.",
      kind: "gauge",
      values: Object.entries(ages).map(([part, ageMs]) => [`{part="${part}"}`, ageMs / 1_000]),
    },
    counted("amends_outbox_entries", "Open entries of the outbox, by state", "status", entries, OPEN_ENTRIES),
    counted("amends_flows", "Open runs of event flows, by state", "status", runs, OPEN_FLOWS),
    counted(
      "amends_webhook_deliveries",
      "Open webhook deliveries, by state",
      "status",
      deliveries,
      OPEN_DELIVERIES,
    ),
    counted("amends_attention", "Items that need a person, by kind", "kind", kinds, ATTENTION_KINDS),
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

function counted<Label extends string>(
  name: string,
  what: string,
  label: string,
  counts: Readonly<Record<Label, Count>>,
  labels: readonly Label[],
): Metric {
  return {
    name,
    help: `${what}, counted up to ${COUNT_MAX}.`,
    kind: "gauge",
    values: labels.map((one) => [`{${label}="${one}"}`, counts[one].value]),
  };
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, kind: "gauge", values: [["", value]] };
}

function textOf({ name, help, kind, values }: Metric): string {
  const lines = values.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}
