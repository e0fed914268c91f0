/** Which room imports which: the permission is the table, the fact is the import statements. */
import { lineAt } from "../source-text.mjs";
import { roomOf, TABLE_FILE } from "./sources.mjs";

/**
 * @typedef {import("./sources.mjs").Source} Source
 * @typedef {import("./sources.mjs").Table} Table
 * @typedef {import("./sources.mjs").Violation} Violation
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

/**
 * @param {Source} source
 * @param {Table} table
 * @returns {Violation[]}
 */
export function checkImports({ file, room: name, edges }, table) {
  const room = table.rooms[name];
  if (room === undefined) return [{ file, line: 1, message: `the room "${name}" is not in ${TABLE_FILE}` }];
  return edges.flatMap(({ specifier, line, typeOnly, target }) => {
    const message = refusal();
    return message === undefined ? [] : [{ file, line, message }];

    function refusal() {
      if (target !== undefined) {
        if (!target.startsWith("src/")) return `${specifier} is outside src/`;
        const other = roomOf(target, table);
        return other === name || mayOpen(name, other, table)
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

/** @param {string} name @param {string} other @param {Table} table */
function mayOpen(name, other, table) {
  const opens = table.rooms[name]?.opens ?? [];
  return opens === "all" || opens.includes(other);
}

/**
 * The rooms that each room imports, as the import statements say; imports of types count.
 * @param {Source[]} sources
 * @param {Table} table
 * @returns {Map<string, Set<string>>}
 */
export function roomImports(sources, table) {
  /** @type {Map<string, Set<string>>} */
  const found = new Map(Object.keys(table.rooms).map((name) => [name, new Set()]));
  for (const { room, edges } of sources) {
    for (const { target } of edges) {
      const other = target?.startsWith("src/") ? roomOf(target, table) : room;
      if (other !== room) found.get(room)?.add(other);
    }
  }
  return found;
}

/**
 * A permission that no import uses is closed, so that the table says what is so. Rooms without files, and "all" for a
 * room that is not the entries, are refused for the same reason.
 * @param {Source[]} sources
 * @param {Table} table
 * @param {(room: string) => number} lineOf where the table names a room
 * @returns {Violation[]}
 */
export function checkTable(sources, table, lineOf) {
  const used = roomImports(sources, table);
  const inhabited = new Set(sources.map(({ room }) => room));
  return Object.entries(table.rooms).flatMap(([name, { opens }]) => {
    const at = { file: TABLE_FILE, line: lineOf(name) };
    if (!inhabited.has(name))
      return [{ ...at, message: `the room "${name}" has no files; remove it from the table` }];
    if (opens === "all") {
      const message = `${name} opens "all"; list the rooms that it imports`;
      return name === "entry" ? [] : [{ ...at, message }];
    }
    return opens
      .filter((other) => !used.get(name)?.has(other))
      .map((other) => ({
        ...at,
        message: `${name} may open ${other}, but no file of ${name} imports it; close it`,
      }));
  });
}

/**
 * @param {Source} source
 * @param {Table} table
 * @returns {Violation[]}
 */
export function checkPurity({ file, room, code }, table) {
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
export function checkStarExports({ file, code }) {
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
export function checkCycles(sources) {
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
