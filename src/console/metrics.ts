/** Prometheus text: what this process did, and how the database stands. Names and states are labels, ids never are. */
import { CLAIMABLE, type SagaStatus } from "../core/saga/machine.ts";
import { HOST } from "../work/host.ts";
import type { Office } from "./office.ts";
import { backlogOf, COUNT_MAX } from "./overview.ts";
import { countStatuses, selectBacklog } from "./saga-queries.ts";

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

export async function metricsText(office: Office): Promise<string> {
  const { amends, db } = office;
  const [counts = {}] = await office.query(countStatuses(db.dialect, OPEN, COUNT_MAX));
  const backlog = backlogOf(await office.query(selectBacklog(db.dialect, COUNT_MAX)));
  const counters = amends.counters as unknown as Readonly<Record<string, number>>;
  const answeredMsAgo = amends[HOST].answeredMsAgo();
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
    gauge("amends_oldest_due_seconds", "How long the oldest due saga has waited.", backlog.oldestMs / 1_000),
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

function gauge(name: string, help: string, value: number): Metric {
  return { name, help, kind: "gauge", values: [["", value]] };
}

function textOf({ name, help, kind, values }: Metric): string {
  const lines = values.map(([labels, value]) => `${name}${labels} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join("")}`;
}
