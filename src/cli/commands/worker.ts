/** `amends worker`: the config's sagas, handlers, resolvers and webhooks, until it is stopped. */
import process from "node:process";
import type { ProbeOptions } from "../../console/health/probes.ts";
import type { RunReport } from "../../operate/budget/run-within.ts";
import { checkSchema } from "../../storage/migrations/migrate.ts";
import { command, flag, number, text, type Command } from "../program/command.ts";
import { UsageError } from "../program/failure.ts";
import { ink, paint } from "../terminal/ink.ts";
import { logLines } from "../terminal/log-lines.ts";
import { optionWords } from "../processes/child.ts";
import { serveProcesses, WATCHED } from "../processes/supervisor.ts";
import { readDuration, serve, type WorkerMessage } from "../program/service.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { DATABASE, openLocal, type Local } from "../source/source.ts";
import { many } from "../terminal/words.ts";
import { isDebug } from "../program/world.ts";

const PROCESSES_MAX = 64;

export const worker: Command = command({
  name: "worker",
  group: "Run",
  summary: "Runs due work until it is stopped (Ctrl-C or SIGTERM).",
  about:
    "It runs what the config registers, and leaves everything else to other workers. Any number of workers may run on one database.",
  options: {
    ...DATABASE,
    concurrency: number("N", "Sagas that run at once. Default: that of the config, else 100.", 1, 100_000),
    poll: text("SPAN", "Poll interval. Default: that of the config, else 1s."),
    processes: number(
      "N",
      "Runs this many workers, each in a process of its own: one for each core. Default: one, in this process.",
      2,
      PROCESSES_MAX,
    ),
    deadline: text("SPAN", "How long running calls may take after a stop. Default: 25s."),
    once: flag("Runs one batch of due work and exits, for cron."),
    budget: text("SPAN", "With --once: runs until nothing is due, for this long at most."),
    migrate: flag("Runs the migrations first."),
    "health-port": number("N", "Serves /livez, /readyz and /metrics on this port. Default: none.", 0, 65_535),
    "health-host": text("ADDRESS", "Default: 127.0.0.1; in a container 0.0.0.0."),
    ...JSON_OUT,
  },
  examples: [
    ["amends worker", "in production, as a service"],
    ["amends worker --concurrency 200 --deadline 1m", "with more at once, and more time to end"],
    ["amends worker --processes 4", "on a machine with four cores or more"],
    ["amends worker --health-port 9090 --health-host 0.0.0.0", "in a container, with probes"],
    ["amends worker --once --budget 50s", "from a cron job that runs each minute"],
  ],
  run: async ({ options, output, world }) => {
    const poll = readDuration(options.poll, "--poll");
    const deadline = readDuration(options.deadline, "--deadline") ?? "25s";
    const budget = readDuration(options.budget, "--budget");
    if (budget !== undefined && !options.once)
      throw new UsageError("--budget is for --once: without it the worker runs until it is stopped.");
    if (options.once && options["health-port"] !== undefined)
      throw new UsageError("--health-port is for a worker that stays: --once runs one batch and exits.");
    const { concurrency, processes } = options;
    if (options.once && processes !== undefined)
      throw new UsageError("--processes is for workers that stay: --once runs one batch and exits.");
    const wanted = { ...(concurrency !== undefined && { concurrency }), ...(poll !== undefined && { poll }) };
    const logger = logLines(output, world, !options.once && isDebug(world));
    const local = await openLocal(options, world, { definitions: true, mayCreate: options.migrate, logger });
    const health = probeWishes(local.config?.health, options["health-port"], options["health-host"]);
    if (processes !== undefined) {
      // The config is read and the schema is checked once; then only the processes have connections.
      const prepare = async (): Promise<void> => {
        try {
          await checked(local, options.migrate);
        } finally {
          await local.amends.close({ deadline });
        }
      };
      const ownProbes = health && { "health-port": 0, "health-host": "127.0.0.1" };
      const own = { ...options, deadline, processes: undefined, migrate: false, ...ownProbes };
      const argv = ["worker", ...optionWords(own)];
      return serveProcesses({ count: processes, argv, prepare, health, deadline }, output, world);
    }
    if (!options.once) {
      const isWatched = world.env[WATCHED] !== undefined;
      const onMessage = isWatched ? (message: WorkerMessage) => void process.send?.(message) : undefined;
      return serve(
        local,
        { migrate: options.migrate, worker: wanted, console: undefined, health, deadline, onMessage },
        output,
        world,
      );
    }
    try {
      await checked(local, options.migrate);
      const once = local.amends.worker({ ...local.config?.worker, ...wanted });
      const { items, ...report } =
        budget === undefined ? { items: await once.runOnce() } : await once.runOnce({ budget });
      output.document({ processed: items, ...report });
      output.say(ink`${paint("green", "done")}: ${many(items, "piece")} of work${restOf(report)}`);
      return 0;
    } finally {
      await local.amends.close({ deadline });
    }
  },
});

/** The schema is as this version needs it, from now on or already. */
async function checked(local: Local, migrates: boolean): Promise<void> {
  if (migrates) await local.amends.migrate();
  else await checkSchema(local.database);
}

/** The options go before the config. An address without a port answers nobody. */
function probeWishes(
  config: ProbeOptions | undefined,
  port: number | undefined,
  host: string | undefined,
): ProbeOptions | undefined {
  if (port !== undefined) return { ...config, port, ...(host !== undefined && { host }) };
  if (config) return { ...config, ...(host !== undefined && { host }) };
  if (host !== undefined) throw new UsageError("--health-host needs --health-port.");
  return undefined;
}

/** What a run with a budget left for later. */
function restOf({ more = false, nextAt }: Partial<RunReport>): string {
  if (more) return "; the budget is used up and more is due: run it again";
  return nextAt ? `; the next becomes due at ${nextAt.toISOString()}` : "";
}
