/** `amends doctor`: checks the installation, and says what to do about each finding. */
import process from "node:process";
import { createRequire } from "node:module";
import type { Health, Session } from "../../console/contract.ts";
import { openSqlite } from "../../storage/sqlite/driver.ts";
import { readMigrations, type MissingMigration } from "../../storage/migrations/migrate.ts";
import { persist } from "../../storage/retry.ts";
import { SOURCE, withApi } from "../source/api.ts";
import { command, type Command } from "../program/command.ts";
import { accessOf } from "../doctor/access.ts";
import { dataMapOf } from "../doctor/data-map.ts";
import { plansOf } from "../doctor/plans.ts";
import { clockOf, handlersOf, orphanedOf, progressOf, schedulesOf } from "../doctor/progress.ts";
import { objectsOf } from "../doctor/objects.ts";
import { refusalsOf, rightsOf } from "../doctor/rights.ts";
import { fileOf, settingsOf } from "../doctor/settings.ts";
import { failureOf, Trouble, UsageError } from "../program/failure.ts";
import { ok, warn, wrong, type Finding } from "../doctor/finding.ts";
import { ink, paint, type Colour, type Ink } from "../terminal/ink.ts";
import type { Output } from "../terminal/output.ts";
import { JSON_OUT } from "../program/shared-options.ts";
import { openLocal, type Local } from "../source/source.ts";
import { ownVersion } from "../program/version.ts";
import { many } from "../terminal/words.ts";
import type { ExitCode, World } from "../program/world.ts";

const OLDEST_NODE = [20, 19];
const CONCURRENCY = 100;

export const doctor: Command = command({
  name: "doctor",
  group: "Set up",
  summary:
    "Checks versions, schema, settings, pooler, clock, rights, plans and progress, and says what to do.",
  about: "Exits with 1 if it finds an error. Warnings are printed and do not change the exit code.",
  options: { ...SOURCE, ...JSON_OUT },
  examples: [
    ["amends doctor", "of the database in amends.config.ts or DATABASE_URL"],
    ["amends doctor --database postgres://app@db/shop --json", "for a program"],
    ["amends doctor --console http://127.0.0.1:7007", "whether a console answers and work gets on"],
  ],
  run: async ({ options, output, world }) => {
    const isRemote = options.console !== undefined;
    const findings = [
      ...versions(),
      ...(await (isRemote
        ? withApi(options, world, (api) => ofConsole(api)).catch(asFinding("console"))
        : ofDatabase(options, output, world))),
    ];
    const count = findings.filter(({ level }) => level === "wrong").length;
    output.document({ ok: count === 0, findings });
    show(output, findings, count);
    return (count === 0 ? 0 : 1) satisfies ExitCode;
  },
});

function versions(): readonly Finding[] {
  const { node } = process.versions;
  const [major = 0, minor = 0] = node.split(".").map(Number);
  const [least = 0, lesser = 0] = OLDEST_NODE;
  const isTooOld = major < least || (major === least && minor < lesser);
  const found = isTooOld
    ? wrong("Node.js", node, `Amends needs ${OLDEST_NODE.join(".")} or newer.`)
    : major < 22
      ? warn("Node.js", node, "It is past its end of life: 22 or 24 get fixes.")
      : ok("Node.js", node);
  return [found, ok("amends", ownVersion())];
}

/** An error during a check is a finding, too: it must not hide other findings. */
function asFinding(check: string): (error: unknown) => readonly Finding[] {
  return (error) => {
    if (error instanceof UsageError) throw error;
    const { message, advice } = failureOf(error);
    return [wrong(check, message, advice ?? "AMENDS_DEBUG=1 shows more.")];
  };
}

async function ofConsole(api: {
  get<T>(path: string): Promise<T>;
  health(): Promise<Health>;
  readonly shown: string;
}): Promise<readonly Finding[]> {
  const { name, roles, version } = await api.get<Session>("/api/session");
  const { status, checks = [] } = await api.health();
  const detail = checks.map((check) => `${check.name}: ${check.detail}`).join("; ");
  return [
    ok("console", `${api.shown} answers, version ${version}, to ${name} (${roles.join(", ")})`),
    status === "ok"
      ? ok("progress", detail)
      : wrong("progress", detail, "Start a worker, or more of them: amends worker"),
  ];
}

async function ofDatabase(
  options: Parameters<typeof openLocal>[0],
  output: Output,
  world: World,
): Promise<readonly Finding[]> {
  let local: Local;
  try {
    local = await openLocal(options, world);
  } catch (error) {
    return asFinding(isAboutDatabase(error) ? "database" : "config")(error);
  }
  const findings: Finding[] = [];
  if (local.configFile !== undefined) findings.push(ok("config", local.configFile));
  try {
    findings.push(driverOf(local));
    await output.progress("looking", async () => examine(local, findings, world));
  } catch (error) {
    findings.push(...asFinding("database")(error));
  } finally {
    await local.amends.close();
  }
  return findings;
}

/** Whether the database itself was refused, not the config that names it. */
function isAboutDatabase(error: unknown): boolean {
  return (
    error instanceof Trouble && ["NO_DATABASE", "DATABASE_MISSING", "DRIVER_MISSING"].includes(error.code)
  );
}

function driverOf({ database }: Local): Finding {
  const require = createRequire(import.meta.url);
  if (database.dialect.name === "postgres") return ok("driver", `pg ${versionOf(require, "pg")}`);
  const name = openSqlite(":memory:").constructor;
  const isOwn =
    (process as { getBuiltinModule?(id: string): { DatabaseSync?: unknown } | undefined }).getBuiltinModule?.(
      "node:sqlite",
    )?.DatabaseSync === name;
  return ok(
    "driver",
    isOwn ? "node:sqlite" : `@photostructure/sqlite ${versionOf(require, "@photostructure/sqlite")}`,
  );
}

function versionOf(require: NodeJS.Require, name: string): string {
  try {
    return (require(`${name}/package.json`) as { version?: string }).version ?? "";
  } catch {
    return "";
  }
}

async function examine(local: Local, findings: Finding[], world: World): Promise<void> {
  const { database: db, config } = local;
  const { erasure } = local.amends.parts;
  const { missing, applied } = await readMigrations(db);
  findings.push(ok("database", `${local.shown} answers`));
  const ask = async (check: string, look: () => Promise<Finding | readonly Finding[]>): Promise<void> => {
    findings.push(...[await persist(db, look).catch(asFinding(check))].flat());
  };
  await ask("settings", () => settingsOf(db, config?.worker?.concurrency ?? CONCURRENCY));
  await ask("pooler", () => accessOf(db));
  await ask("clock", () => clockOf(db, () => world.nowMs()));
  findings.push(schemaFinding(applied.length, missing));
  if (missing.some(({ isNeeded }) => isNeeded)) return;
  await ask("file", () => fileOf(db));
  await ask("refusals", () => refusalsOf(db));
  const before = findings.length;
  await ask("tables", () => objectsOf(db));
  // Without a table or an index the plans are bad for a reason that is known.
  if (findings.slice(before).some(({ level }) => level === "wrong")) return;
  await ask("rights", () => rightsOf(db));
  await ask("plans", () => plansOf(db));
  await ask("progress", () => progressOf(db, config));
  await ask("schedules", () => schedulesOf(db));
  await ask("handlers", () => handlersOf(db));
  await ask("log", () => orphanedOf(db));
  if (erasure) await ask("data map", async () => dataMapOf(await erasure.check()));
}

function schemaFinding(applied: number, missing: readonly MissingMigration[]): Finding {
  if (missing.length === 0) return ok("schema", `${many(applied, "migration")}, none missing`);
  const names = missing.map(({ name }) => name).join(", ");
  const detail = `${many(missing.length, "migration")} missing: ${names}`;
  const advice = "Run: amends migrate";
  if (missing.some(({ isNeeded }) => isNeeded)) return wrong("schema", detail, advice);
  return warn("schema", `${detail}, indexes without which statements are slower`, advice);
}

const SIGNS: Readonly<Record<Finding["level"], readonly [sign: string, colour: Colour]>> = {
  ok: ["✓", "green"],
  warn: ["!", "yellow"],
  wrong: ["✗", "red"],
};

function show(output: Output, findings: readonly Finding[], count: number): void {
  for (const { check, level, detail, advice } of findings) {
    const [sign, colour] = SIGNS[level];
    output.say(ink`${paint(colour, sign)} ${check.padEnd(12)} ${detail}`);
    if (advice !== undefined) output.say(ink`  ${" ".repeat(12)} ${paint(colour, "→")} ${advice}`);
  }
  const warnings = findings.filter(({ level }) => level === "warn").length;
  output.say();
  output.say(verdict(count, warnings));
}

function verdict(errors: number, warnings: number): Ink {
  if (errors + warnings === 0) return paint("green", "No problems found.");
  const found = `${errors === 0 ? "No errors" : many(errors, "error")}, ${many(warnings, "warning")}.`;
  return paint(errors === 0 ? "yellow" : "red", found);
}
