/**
 * Runs a worker, a console, or both, until the process gets a stop signal. Then nothing more is claimed, running calls
 * may finish up to the deadline, and unfinished work is released. An uncaught error of the user's code stops the
 * process in the same way, because its state is no longer known.
 */
import { listenForProbes, type ProbeOptions, type ProbeServer } from "../../console/health/probes.ts";
import { CONSOLE_PORT } from "../../console/http/node-http.ts";
import { randomBytes } from "node:crypto";
import process from "node:process";
import { createConsole, type ConsoleServer } from "../../console.ts";
import { durationMs, type Duration } from "../../core/duration.ts";
import { AmendsError, errorLabel } from "../../core/errors.ts";
import { checkSchema, migrate } from "../../storage/migrations/migrate.ts";
import { Trouble, UsageError } from "./failure.ts";
import { ink, paint } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import type { Local } from "../source/source.ts";
import { tellThrows } from "../terminal/throw-lines.ts";
import { stackOf } from "../../operate/log/logger.ts";
import type { WorkerOptions } from "../../operate/worker.ts";
import { isDebug, type ExitCode, type World } from "./world.ts";

export interface ServiceOptions {
  readonly migrate: boolean;
  readonly worker: WorkerOptions | undefined;
  readonly console: ConsoleWishes | undefined;
  /** Where probes are answered; undefined answers none. */
  readonly health?: ProbeOptions | undefined;
  readonly deadline: Duration;
  /** Prints nothing when it stops, because it is restarted at once. */
  readonly leavesQuietly?: boolean;
  /** The viewer is the author of the sagas: errors are printed with their stacks. */
  readonly tellsThrows?: boolean;
  /** Tells the process that watches this one, which then speaks to people about probes and the stop. */
  readonly onMessage?: ((message: WorkerMessage) => void) | undefined;
}

/** What a worker tells the process that watches it: that it works, and where its probes are answered. */
export type WorkerMessage = { readonly type: "working" } | HealthMessage;

export interface HealthMessage {
  readonly type: "health";
  readonly url: string;
}

export interface ConsoleWishes {
  readonly port: number | undefined;
  readonly host: string | undefined;
  readonly hosts: readonly string[];
  /** Stays the same over restarts, so that an address that was printed goes on to work. */
  readonly token: string | undefined;
}

export async function serve(
  local: Local,
  options: ServiceOptions,
  output: Output,
  world: World,
): Promise<ExitCode> {
  const { migrate: mayMigrate, worker: wanted, console: wishes, deadline } = options;
  const end = new AbortController();
  const forget = endOnFault(output, end);
  const isTold = options.tellsThrows === true || isDebug(world);
  const fallSilent = isTold ? tellThrows(output, world) : () => undefined;
  let server: ConsoleServer | undefined;
  let probes: ProbeServer | undefined;
  try {
    // Before the migrations: a process that migrates for long is alive, and not ready.
    probes =
      options.health &&
      (await listening(
        options.health,
        (given) => listenForProbes(local.amends, given),
        options.onMessage ?? announce(output),
      ));
    if (mayMigrate) await migrate(local.database);
    else await checkSchema(local.database);
    server = wishes && (await openConsole(local, wishes, output, world));
    const worker = wanted && local.amends.worker({ ...local.config?.worker, ...wanted });
    await worker?.start();
    if (worker) {
      report(
        output,
        { type: "working", database: local.shown },
        ink`${paint("green", "working")} on ${local.shown}`,
      );
      options.onMessage?.({ type: "working" });
    }
    await fired(AbortSignal.any([world.stop, end.signal]));
    if (options.leavesQuietly !== true && !options.onMessage)
      report(
        output,
        { type: "stopping" },
        paint("dim", `Stopping; running calls have ${String(deadline)}. Ctrl-C again ends at once.`),
      );
    return end.signal.aborted ? 1 : 0;
  } finally {
    probes?.drain();
    await server?.close();
    await local.amends.close({ deadline });
    await probes?.close();
    forget();
    fallSilent();
  }
}

/** For people and for programs alike. */
export function report(output: Output, event: unknown, line: ReturnType<typeof ink>): void {
  output.event(event);
  output.say(line);
}

/** Begins to answer probes, and says where. */
export async function listening(
  wishes: ProbeOptions,
  listen: (wishes: ProbeOptions) => Promise<ProbeServer>,
  tell: (message: HealthMessage) => void,
): Promise<ProbeServer> {
  const probes = await listen(wishes).catch((error: unknown) => {
    if ((error as { code?: unknown }).code !== "EADDRINUSE") throw error;
    const message = `Port ${wishes.port} is in use by another program.`;
    throw new Trouble("PORT_TAKEN", message, "Use another one: --health-port 0 takes any free one.");
  });
  tell({ type: "health", url: probes.url });
  return probes;
}

/** For a person, and for a program that reads the events. */
export function announce(output: Output): (message: HealthMessage) => void {
  return (message) =>
    report(output, message, ink`${paint("green", "health")}   ${message.url}livez, readyz, metrics`);
}

async function openConsole(
  local: Local,
  wishes: ConsoleWishes,
  output: Output,
  world: World,
): Promise<ConsoleServer> {
  const { port, host, ...options } = local.config?.console ?? {};
  const given = wishes.token ?? world.env["AMENDS_TOKEN"];
  const { tokens = [] } = options;
  const ownTokens = typeof tokens === "function" ? tokens() : tokens;
  const needsToken = ownTokens.length === 0 && options.authorize === undefined;
  const token =
    given !== undefined && given !== ""
      ? given
      : needsToken
        ? randomBytes(24).toString("base64url")
        : undefined;
  const console = createConsole(local.amends, {
    ...options,
    hosts: [...(options.hosts ?? []), ...wishes.hosts],
    tokens: [
      ...ownTokens,
      ...(token === undefined
        ? []
        : [{ token, name: "operator", roles: ["read", "operate", "reveal"] } as const]),
    ],
  });
  const server = await console.listen({
    port: wishes.port ?? port ?? CONSOLE_PORT,
    host: wishes.host ?? host ?? "127.0.0.1",
  });
  const address = token === undefined ? server.signInUrl : `${server.url}#token=${token}`;
  report(
    output,
    { type: "console", url: server.url, signInUrl: address },
    ink`${paint("green", "console")}  ${paint("bold", address)}`,
  );
  return server;
}

/** An uncaught error leaves the process in an unknown state. Only its label is printed, except in `amends dev`. */
function endOnFault(output: Output, end: AbortController): () => void {
  const onFault = (error: unknown): void => {
    const text = process.env["AMENDS_DEBUG"] ? stackOf(error) : errorLabel(error);
    output.note(ink`${paint("red", "error:")} uncaught error in your code: ${text}`);
    end.abort();
  };
  process.on("uncaughtException", onFault);
  process.on("unhandledRejection", onFault);
  return () => {
    process.off("uncaughtException", onFault);
    process.off("unhandledRejection", onFault);
  };
}

/** Waits for a stop. */
export async function fired(stop: AbortSignal): Promise<void> {
  if (stop.aborted) return;
  // A signal alone keeps no process alive.
  const alive = setInterval(() => undefined, 60_000);
  await new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve(), { once: true }));
  clearInterval(alive);
}

/** A duration from the command line. */
export function readDuration(given: string | undefined, option: string): Duration | undefined {
  if (given === undefined) return undefined;
  try {
    durationMs(given as Duration, option);
    return given as Duration;
  } catch (error) {
    throw error instanceof AmendsError ? new UsageError(error.message) : error;
  }
}

export function readHosts(given: string | undefined): readonly string[] {
  return given === undefined ? [] : given.split(",").map((host) => host.trim());
}
