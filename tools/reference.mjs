/**
 * `npm run reference`: writes docs/reference/api.md (what each entry exports) and docs/reference/errors.md (what each
 * error code means) from the comments of the sources. A test compares both pages with the sources.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describedApi } from "./doors/api.mjs";
import { docBefore } from "./doors/declarations.mjs";
import { readRules } from "./doors.mjs";
import { readTexts, sourcesOf } from "./doors/sources.mjs";
import { isMain, root, toolMain } from "./project.mjs";

/**
 * @typedef {import("./doors/sources.mjs").Source} Source
 * @typedef {import("./doors/api.mjs").Described} Described
 */

const CODES_FILE = "src/core/error/code.ts";
const FAILURE_LABELS_FILE = "src/core/saga/failure-label.ts";
const DELIVERY_CODES_FILE = "src/core/delivery/error-code.ts";
const MADE = "<!-- Made by `npm run reference` from the comments of the sources. Do not edit it. -->";

/** @returns {Record<string, string>} the pages, by their file */
export function referencePages() {
  const sources = sourcesOf(readTexts(root, ["src"]), readRules().table);
  return { "docs/reference/api.md": apiPage(sources), "docs/reference/errors.md": errorsPage(sources) };
}

/** @param {Source[]} sources */
function apiPage(sources) {
  /** @type {{ exports: Record<string, string | { types: string }> }} */
  const { exports } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const described = new Map(describedApi(sources).map(({ entry, offers }) => [entry, offers]));
  const sections = Object.entries(exports).flatMap(([door, target]) => {
    if (typeof target === "string") return [];
    const file = target.types.replace("./dist/", "src/").replace(/\.d\.ts$/, ".ts");
    const offers = described.get(file) ?? [];
    return [`## ${path.posix.join("amends", door)}`, ...offers.toSorted(byName).map(printed)];
  });
  const opening =
    "What each entry of the package exports, with its public members. Signatures are in the types, which editors show; " +
    "[what to import from where](../guides/entries.md) is the short list, and [error codes](errors.md) have a page of their own.";
  return `${["# API reference", MADE, opening, ...sections].join("\n\n")}\n`;
}

/** @param {Described} a @param {Described} b */
function byName(a, b) {
  return a.name.localeCompare(b.name, "en");
}

/** @param {Described} described */
function printed({ name, kind, doc, members }) {
  const lines = members
    .filter((member) => member.doc !== "")
    .map((member) => `- \`${member.name}\`: ${cell(member.doc)}`);
  return [`**\`${name}\`** (${kind}). ${cell(doc)}`, ...(lines.length > 0 ? [lines.join("\n")] : [])].join(
    "\n\n",
  );
}

/** @param {Source[]} sources */
function errorsPage(sources) {
  const rows = errorCodes(sources).map(
    ({ code, means, remedy }) => `| \`${code}\` | ${cell(means)} | ${cell(remedy)} |`,
  );
  const labels = tableOf(sources, FAILURE_LABELS_FILE, "FAILURE_LABELS");
  const deliveries = tableOf(sources, DELIVERY_CODES_FILE, "ERROR_CODES");
  return `${[
    "# Error codes",
    MADE,
    "A call that Amends refuses throws an `AmendsError`. Its `code` is contract ([stability](../stability.md)) and is meant " +
      "for programs; its message says which value is wrong and what to do. `details` has further facts, never personal data. " +
      "Nothing was written, except where the message says so.",
    ["| Code | What happened | What to do |", "|---|---|---|", ...rows].join("\n"),
    "`DATABASE_UNREACHABLE`, `DATABASE_READ_ONLY` and `SAGA_CONCURRENCY` can pass by themselves: a call that throws one of them " +
      "from inside an act is retried on the step's schedule. Every other code is permanent inside an act, because the same " +
      "call would be refused again.",
    "## Labels of failures",
    "A failure of a saga is stored, listed and shown by a label. The label of an `err` is its value if that is a text such as " +
      "`card-declined`, or its field `code`, else `Err`. A thrown error has its `code` if it is a `Terminal`, a `RetryLater`, an `AmendsError` " +
      "or an error that is known (`ECONNREFUSED`, `40001`, those of the option `errorCodes`), else the name of its class, else `UnknownError`. " +
      "These labels come from Amends itself:",
    ["| Label | What happened |", "|---|---|", ...labels].join("\n"),
    "## Codes of webhook deliveries",
    "An attempt that got no usable answer is recorded with one of these codes; any other answer than 2xx is recorded as `http_<status>`.",
    ["| Code | What happened |", "|---|---|", ...deliveries].join("\n"),
  ].join("\n\n")}\n`;
}

/**
 * The members of the union `ErrorCode`, with the two parts of their comments.
 * @param {Source[]} sources
 */
export function errorCodes(sources) {
  const source = sourceOf(sources, CODES_FILE);
  return [...source.text.matchAll(/\| "([A-Z_]+)"/g)].map(({ 1: code = "", index }) => {
    const [, means = "", remedy = ""] = /^(.+?\.)\s+(.+)$/s.exec(docBefore(source, index)) ?? [];
    if (remedy === "")
      throw new Error(
        `${CODES_FILE}: ${code} needs a comment of two sentences: what happened, and what to do.`,
      );
    return { code, means, remedy };
  });
}

/**
 * The rows of a table of texts, by name.
 * @param {Source[]} sources
 * @param {string} file
 * @param {string} name
 */
function tableOf(sources, file, name) {
  const { text } = sourceOf(sources, file);
  const table = new RegExp(`${name} = \\{([^}]*)\\}`).exec(text)?.[1] ?? "";
  return [...table.matchAll(/(\w+):\s*(["'])(.+?)\2,/g)].map(
    ([, code = "", , means = ""]) => `| \`${code}\` | ${cell(means)} |`,
  );
}

/**
 * @param {Source[]} sources
 * @param {string} file
 */
function sourceOf(sources, file) {
  const found = sources.find((source) => source.file === file);
  if (!found) throw new Error(`${file} does not exist.`);
  return found;
}

/** @param {string} text */
function cell(text) {
  // Between backticks, Markdown shows an entity as it is written.
  const parts = text.replaceAll("|", "\\|").split(/(`[^`]*`)/);
  return parts.map((part, at) => (at % 2 === 1 ? part : part.replaceAll(/<(?=[a-z/])/gi, "&lt;"))).join("");
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    for (const [file, text] of Object.entries(referencePages())) {
      mkdirSync(path.join(root, path.dirname(file)), { recursive: true });
      writeFileSync(path.join(root, file), text);
    }
  });
}
