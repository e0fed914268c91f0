/** `amends events`: the contract of the config's events with other teams, as a file that is committed. */
import { readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import {
  contractOf,
  eventsOf,
  type EventCatalogue,
  type EventContract,
} from "../../../events/contracts/catalogue.ts";
import { compareContracts, isFailing, type ContractChange } from "../../../events/contracts/compare.ts";
import { isEventType } from "../../../events/define/several.ts";
import type { AnyEvent } from "../../../events/define/event.ts";
import type { AmendsConfig } from "../../config/config.ts";
import { findConfig, loadConfig } from "../../config/load-config.ts";
import { command, text, type Command } from "../../program/command.ts";
import { Trouble, UsageError } from "../../program/failure.ts";
import { JSON_OUT } from "../../program/shared-options.ts";
import { ink, paint } from "../../terminal/ink.ts";
import type { Output } from "../../terminal/output.ts";

export const events: Command = command({
  name: "events",
  group: "Look",
  summary: "The contract of your events: writes it to a file, and checks it in a build.",
  about:
    "The file has the name, the version and the JSON Schema of each event of the config. Commit it. --check fails if a schema changed without a new version. No database is opened.",
  options: {
    write: text("FILE", "Writes the events of the config to this file."),
    check: text("FILE", "Compares the events of the config with this file."),
    except: text("NAMES", "Events that are left out, separated by commas. Default: none."),
    config: text("FILE", "The config file. Default: amends.config.{ts,mts,js,mjs} in this folder."),
    ...JSON_OUT,
  },
  examples: [
    ["amends events --write events.json", "after a change that is meant"],
    ["amends events --check events.json", "in a build: exit code 1 if a schema changed without a version"],
  ],
  run: async ({ options: { write, check, except, config: given }, output, world: { cwd } }) => {
    const target = write ?? check;
    if (target === undefined || (write !== undefined && check !== undefined))
      throw new UsageError("Give either --write FILE or --check FILE.", "events");
    const file = findConfig(cwd, given);
    if (file === undefined)
      throw new Trouble("NO_CONFIG", "There is no amends.config here.", "Name it with --config FILE.");
    const now = contractsOf((await loadConfig(file, cwd)).config, namesOf(except));
    const path = resolve(cwd, target);
    if (write !== undefined) {
      const catalogue: EventCatalogue = { catalogue: 1, events: now };
      writeFileSync(path, `${JSON.stringify(catalogue, null, 2)}\n`);
      output.document({
        file: target,
        events: now.map(({ event, version, hash }) => ({ event, version, hash })),
      });
      output.say(ink`${target} has ${now.length} events.`);
      return 0;
    }
    const written = readCatalogue(path, target);
    const left = namesOf(except);
    const kept = written.events.filter(({ event }) => !left.includes(event));
    const changes = compareContracts({ ...written, events: kept }, now);
    const isFine = !changes.some(isFailing);
    output.document({ ok: isFine, file: target, events: changes });
    tell(output, changes, target);
    return isFine ? 0 : 1;
  },
});

function namesOf(except: string | undefined): readonly string[] {
  return except === undefined ? [] : except.split(",").map((name) => name.trim());
}

function contractsOf(config: AmendsConfig, except: readonly string[]): readonly EventContract[] {
  const { events: given = [], sagas = [], webhooks, contracts = [] } = config;
  if (!Array.isArray(contracts) || !contracts.every(isEventType))
    throw new Trouble(
      "BAD_OPTION",
      "`contracts` of the config must be a list of events, made by `event(…)`.",
    );
  const sent = (webhooks?.events ?? []).map((one) => (isEventType(one) ? one : one.event));
  const define = "define" in given ? given.define : given;
  const all = eventsOf({ define, sagas, further: [...sent, ...contracts] });
  const unknown = except.find((name) => !all.some(({ type }) => type === name));
  if (unknown !== undefined) throw new UsageError(`--except: the config has no event ${unknown}.`, "events");
  return oneOfEach(all.filter(({ type }) => !except.includes(type)));
}

/** The same event, defined twice, must say the same twice. */
function oneOfEach(all: readonly AnyEvent[]): readonly EventContract[] {
  const unreadable = all.filter((event) => event.jsonSchema() === undefined).map(({ type }) => type);
  if (unreadable.length > 0) {
    throw new Trouble(
      "NO_JSON_SCHEMA",
      `These events cannot be compared, because their schemas give no JSON Schema: ${unreadable.join(", ")}.`,
      `Use a schema library with Standard JSON Schema, such as Zod 4.2, or leave them out: --except ${unreadable.join(",")}`,
    );
  }
  const found = new Map<string, EventContract>();
  for (const event of all) {
    const contract = contractOf(event) as EventContract;
    const other = found.get(event.type);
    if (other && (other.version !== contract.version || other.hash !== contract.hash))
      throw new Trouble(
        "BAD_DEFINITION",
        `Two different events of the config are named ${event.type}.`,
        "Define it once, and import it from there.",
      );
    found.set(event.type, contract);
  }
  return [...found.values()];
}

function readCatalogue(path: string, shown: string): EventCatalogue {
  let read: Partial<EventCatalogue>;
  try {
    read = JSON.parse(readFileSync(path, "utf8")) as Partial<EventCatalogue>;
  } catch (error) {
    const isAbsent = (error as { code?: unknown }).code === "ENOENT";
    const message = isAbsent ? `There is no file ${shown}.` : `${shown} cannot be read as JSON.`;
    throw new Trouble("NO_CATALOGUE", message, `Write it, and commit it: amends events --write ${shown}`);
  }
  if (read?.catalogue === 1 && Array.isArray(read.events) && read.events.every(isContract))
    return read as EventCatalogue;
  throw new Trouble(
    "NO_CATALOGUE",
    `${shown} is no catalogue of events that this version of amends reads.`,
    `Write it anew: amends events --write ${shown}`,
  );
}

function isContract(one: Partial<EventContract> | null): boolean {
  const isText = typeof one?.event === "string" && typeof one.hash === "string";
  return isText && Number.isInteger(one.version) && typeof one.schema === "object" && one.schema !== null;
}

function tell(output: Output, changes: readonly ContractChange[], file: string): void {
  for (const { event, version, was, status, changes: words } of changes) {
    if (status === "new") output.say(paint("dim", `${event}@${version ?? ""} is new.`));
    if (status === "versioned")
      output.say(paint("dim", `${event} has version ${version ?? ""}; it had ${was ?? ""}.`));
    if (status === "removed") output.say(paint("red", `${event}@${was ?? ""} is no longer defined.`));
    if (status === "older")
      output.say(
        paint("red", `${event} has version ${version ?? ""}, which is older than ${was ?? ""} in ${file}.`),
      );
    if (status === "changed")
      output.say(paint("red", `${event}@${version ?? ""} changed without a new version:`));
    if (status === "compatible") output.say(ink`${event}@${version ?? ""} changed, and stays compatible:`);
    for (const word of words) output.say(ink`  ${word}`);
  }
  const failing = changes.filter(isFailing).length;
  const isBehind = changes.some(({ status }) => status !== "same");
  if (failing > 0)
    output.say(
      ink`Give a changed event a new version and an upcast. If a change is meant for everybody: amends events --write ${file}`,
    );
  else if (isBehind) output.say(ink`Nothing broke. Renew the file: amends events --write ${file}`);
  else output.say(ink`All ${changes.length} events are as in ${file}.`);
}
