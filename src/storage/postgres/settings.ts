/**
 * The settings of Amends' own connections: time limits against a database that hangs, and plans that do not depend on
 * statistics (docs/performance.md). A direct connection gets them once, as startup parameters. A pooler refuses or ignores those
 * and lends each transaction another connection of the server, so there they open every transaction as SET LOCAL.
 */
import type { ClientBase, ClientConfig } from "pg";

/**
 * Our statements reach rows by key. Plans are made once, often on an empty table, and must not become scans of a
 * table that has grown since.
 */
const PLANNER: Readonly<Record<string, string>> = {
  plan_cache_mode: "force_generic_plan",
  jit: "off",
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_bitmapscan: "off",
};

/** A setting of our own that nothing reads but `isDirect`: a session that lacks it has lost the others as well. */
const MARK = "amends.direct";

const OPTIONS = [...Object.entries(PLANNER), [MARK, "on"]]
  .map(([name, value]) => `-c ${name}=${value}`)
  .join(" ");

/** The margin after the server's own limit before the connection counts as silent. */
export const LATE_ANSWER_MS = 2_000;

/** The configuration of a direct connection. */
export function connectionDefaults(statementMs: number): ClientConfig {
  return {
    application_name: "amends",
    connectionTimeoutMillis: 5_000,
    statement_timeout: statementMs,
    // Also for the statements of a transactional step.
    query_timeout: statementMs + LATE_ANSWER_MS,
    lock_timeout: 5_000,
    idle_in_transaction_session_timeout: 15_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    options: OPTIONS,
  };
}

const LIMITS = ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"] as const;

/** The same configuration without startup parameters that a pooler refuses. */
export function throughPooler(config: ClientConfig): ClientConfig {
  const kept: ClientConfig = { ...config };
  for (const name of LIMITS) delete kept[name];
  if (kept.options === OPTIONS) delete kept.options;
  return kept;
}

/** True if this client has sent our settings as startup parameters: the caller's URL or configuration may have replaced them. */
export function hasSentSettings(client: ClientBase): boolean {
  type Sent = { readonly connectionParameters?: { readonly options?: unknown } };
  return (client as Partial<Sent>).connectionParameters?.options === OPTIONS;
}

/** A column that is true if the server has applied our startup parameters. */
export const IS_DIRECT: string = `coalesce(current_setting('${MARK}', true), '') = 'on' as direct`;

/** How transactions begin on a direct connection. */
export interface Openings {
  readonly own: string;
  /** Application statements in a transactional step use the normal planner settings. */
  readonly foreign: string;
}

export const DIRECT_OPENINGS: Openings = {
  own: "begin",
  foreign: `begin; ${settings(Object.keys(PLANNER).map((name) => [name, name === "plan_cache_mode" ? "auto" : "on"]))}`,
};

/** How transactions begin through a pooler. `guard` is a statement that fails if the server is not the one that it was. */
export function pooledOpenings(config: ClientConfig, guard: string | undefined): Openings {
  const limits = LIMITS.flatMap((name) => (config[name] ? [[name, String(config[name])] as const] : []));
  const planner = config.options === OPTIONS ? Object.entries(PLANNER) : [];
  const opening = (all: readonly (readonly [string, string])[]): string =>
    ["begin", settings(all), guard].filter(Boolean).join("; ");
  return { own: opening([...limits, ...planner]), foreign: opening(limits) };
}

function settings(all: readonly (readonly [name: string, value: string])[]): string {
  return all.map(([name, value]) => `set local ${name} = ${value}`).join("; ");
}
