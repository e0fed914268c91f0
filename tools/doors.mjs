/**
 * Checks src/ against tools/doors.json, the one table that says which room may open which door. A room is the
 * first folder below src/; the files directly in src/ are the room "entry". A folder inside a room is a room of its
 * own where the table names it ("webhooks/jobs"): then it has doors of its own, towards the room around it too. The
 * diagram in the docs is printed from the same table (--mermaid).
 */
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { isMain, root } from "./project.mjs";
import { blank, importsOf } from "./source-text.mjs";

/**
 * @typedef {{ opens: string[] | "all", except?: string[], builtins?: boolean, packages?: string[], typePackages?: string[], pure?: boolean }} Room
 * @typedef {{ rooms: Record<string, Room>, refusedNames: string[], allowedFiles: string[], lineMax: number }} Table
 * @typedef {{ file: string, line: number, message: string }} Violation
 * @typedef {import("./source-text.mjs").Import & { target: string | undefined }} Edge
 * @typedef {{ file: string, room: string, code: string, lines: number, edges: Edge[] }} Source
 */

/**
 * What would make a pure room depend on when, where or by whom it runs.
 * @type {[RegExp, string][]}
 */
const impurities = [
  [/\bDate\.now\b/g, "Date.now"],
  [/\bnew Date(?:\(\s*\)|(?!\s*\()\b)/g, "new Date() without an argument"],
  [/\bMath\.random\b/g, "Math.random"],
  [/\bperformance\.now\b/g, "performance.now"],
  [/\bprocess\.\w+/g, "process"],
  [/\b(?:setTimeout|setInterval|setImmediate|queueMicrotask)\b/g, "a timer"],
  [/\bcrypto\.(?:randomUUID|getRandomValues|randomBytes)\b/g, "randomness"],
];

/** @returns {Table} */
export function readTable() {
  return JSON.parse(readFileSync(path.join(root, "tools", "doors.json"), "utf8"));
}

/**
 * @param {string} folder the src folder
 * @param {Table} table
 * @returns {Violation[]}
 */
export function checkDoors(folder, table) {
  const sources = readSources(folder, table);
  const found = sources.flatMap((source) => [
    ...nameAndSize(source, table),
    ...doors(source, table),
    ...purity(source, table),
    ...starExports(source),
  ]);
  return [...found, ...cycles(sources)].toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
}

/**
 * @param {string} folder
 * @param {Table} table
 * @returns {Source[]}
 */
function readSources(folder, table) {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /\.[cm]?tsx?$/.test(name))
    .toSorted()
    .map((name) => {
      const file = name.split(path.sep).join("/");
      const text = readFileSync(path.join(folder, name), "utf8");
      const edges = importsOf(text).map((found) => ({ ...found, target: targetOf(file, found.specifier) }));
      return {
        file,
        room: roomOf(file, table),
        code: blank(text),
        lines: text.trimEnd().split("\n").length,
        edges,
      };
    });
}

/**
 * The innermost room that the table names; the first folder where it names none.
 * @param {string} file
 * @param {Table} table
 */
function roomOf(file, table) {
  const folders = file.split("/").slice(0, -1);
  for (let depth = folders.length; depth > 1; depth--) {
    const name = folders.slice(0, depth).join("/");
    if (table.rooms[name] !== undefined) return name;
  }
  return folders[0] ?? "entry";
}

/**
 * @param {string} file
 * @param {string} specifier
 */
function targetOf(file, specifier) {
  return specifier.startsWith(".") ? path.posix.join(path.posix.dirname(file), specifier) : undefined;
}

/**
 * @param {Source} source
 * @param {Table} table
 * @returns {Violation[]}
 */
function nameAndSize({ file, lines, room }, table) {
  const found = [];
  const stem = path.posix.basename(file).split(".")[0] ?? "";
  if (table.refusedNames.includes(stem) && !table.allowedFiles.includes(file)) {
    found.push({ file, line: 1, message: `"${stem}" says nothing about what the file holds` });
  }
  if (lines > table.lineMax) {
    found.push({
      file,
      line: lines,
      message: `${lines} lines; split it by statement or by phase (at most ${table.lineMax})`,
    });
  }
  if (table.rooms[room] === undefined) {
    found.push({ file, line: 1, message: `the room "${room}" is not in tools/doors.json` });
  }
  return found;
}

/**
 * @param {Source} source
 * @param {Table} table
 * @returns {Violation[]}
 */
function doors({ file, room: name, edges }, table) {
  const room = table.rooms[name];
  if (room === undefined) return [];
  const open = openDoors(name, table);
  return edges.flatMap(({ specifier, line, typeOnly, target }) => {
    const message = refusal();
    return message === undefined ? [] : [{ file, line, message }];

    function refusal() {
      if (target !== undefined) {
        if (target.startsWith("..")) return `${specifier} is outside src/`;
        const other = roomOf(target, table);
        return other === name || open.includes(other)
          ? undefined
          : `${name} may not open ${other} (${specifier})`;
      }
      if (specifier.startsWith("node:")) {
        return room?.builtins === false ? `${name} may not use ${specifier}` : undefined;
      }
      if (room?.packages === undefined || room.packages.includes(specifier)) return undefined;
      const known = room.typePackages?.includes(specifier) === true;
      if (known && typeOnly) return undefined;
      return known ? `${name} may take only types from ${specifier}` : `${name} may not use ${specifier}`;
    }
  });
}

/**
 * @param {string} name
 * @param {Table} table
 * @returns {string[]}
 */
function openDoors(name, table) {
  const room = table.rooms[name];
  if (room === undefined) return [];
  const all = room.opens === "all" ? Object.keys(table.rooms) : room.opens;
  return all.filter((other) => other !== name && room.except?.includes(other) !== true);
}

/**
 * @param {Source} source
 * @param {Table} table
 * @returns {Violation[]}
 */
function purity({ file, room, code }, table) {
  if (table.rooms[room]?.pure !== true) return [];
  return impurities.flatMap(([pattern, what]) =>
    [...code.matchAll(pattern)].map((match) => ({
      file,
      line: lineAt(code, match.index),
      message: `${room} is pure and may not use ${what}`,
    })),
  );
}

/**
 * @param {Source} source
 * @returns {Violation[]}
 */
function starExports({ file, code }) {
  return [...code.matchAll(/\bexport\s+(?:type\s+)?\*/g)].map((match) => ({
    file,
    line: lineAt(code, match.index),
    message: "export * hides what is offered; name the exports one by one",
  }));
}

/**
 * Files that import each other in a circle at run time; imports of types only do not count.
 * @param {Source[]} sources
 * @returns {Violation[]}
 */
function cycles(sources) {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  /** @type {Map<string, "open" | "done">} */
  const seen = new Map();
  /** @type {Violation[]} */
  const found = [];
  /** @param {Source} source @param {string[]} trail */
  const visit = (source, trail) => {
    seen.set(source.file, "open");
    for (const edge of source.edges) {
      const next = edge.typeOnly || edge.target === undefined ? undefined : byFile.get(edge.target);
      if (next === undefined) continue;
      if (seen.get(next.file) === "open") {
        const here = [...trail, source.file];
        const circle = [...here.slice(here.indexOf(next.file)), next.file];
        found.push({ file: source.file, line: edge.line, message: `a cycle: ${circle.join(" → ")}` });
      } else if (!seen.has(next.file)) visit(next, [...trail, source.file]);
    }
    seen.set(source.file, "done");
  };
  for (const source of sources) if (!seen.has(source.file)) visit(source, []);
  return found;
}

/**
 * @param {string} text
 * @param {number} index
 */
function lineAt(text, index) {
  return text.slice(0, index).split("\n").length;
}

/**
 * The table as a diagram. What follows from other arrows is left out, so that the picture can be read.
 * @param {Table} table
 */
export function mermaid(table) {
  const names = Object.keys(table.rooms);
  const lines = ["flowchart TD"];
  for (const name of names) {
    const open = openDoors(name, table);
    const direct = open.filter((other) => {
      if (openDoors(other, table).includes(name)) return names.indexOf(other) < names.indexOf(name);
      return !open.some((between) => {
        const mutual = openDoors(between, table).includes(name);
        return (
          !mutual && openDoors(between, table).includes(other) && !openDoors(other, table).includes(between)
        );
      });
    });
    for (const other of direct) lines.push(`  ${node(name)} --> ${node(other)}`);
  }
  return lines.join("\n");
}

/**
 * A slash has a meaning of its own in a diagram: such a room gets another id, and its name as a label.
 * @param {string} name
 */
function node(name) {
  return name.includes("/") ? `${name.replaceAll(/\W/g, "_")}["${name}"]` : name;
}

if (isMain(import.meta.url)) {
  const table = readTable();
  if (process.argv.includes("--mermaid")) {
    console.log(mermaid(table));
  } else {
    const violations = checkDoors(path.join(root, "src"), table);
    for (const { file, line, message } of violations) console.log(`src/${file}:${line}  ${message}`);
    if (violations.length > 0) process.exitCode = 1;
  }
}
