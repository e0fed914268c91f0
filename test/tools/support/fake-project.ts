/** A small project on disk for the checks of the sources, gone after the test. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { checkDoors, inspect, type Rules } from "../../../tools/doors.mjs";
import { roomImports } from "../../../tools/doors/imports.mjs";
import type { Room, Table } from "../../../tools/doors/sources.mjs";

export type Files = Readonly<Record<string, string>>;
export type FakeRules = Partial<Table> & Partial<Pick<Rules, "words" | "tableText">>;

/** Writes the files and returns the folder. */
export function fakeProject(files: Files): string {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-doors-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

/** The rules of a project in which everything is in order, apart from what the test gives. */
export function fakeRules(folder: string, files: Files, given: FakeRules): Rules {
  const { words = [], tableText = "", ...rest } = given;
  const table: Table = {
    rooms: {},
    tables: {},
    refusedNames: ["utils", "index"],
    allowedFiles: ["index.ts"],
    lineMax: 400,
    filesMax: 15,
    pending: {},
    ...rest,
  };
  if (given.rooms) return { table, words, tableText };
  const named = Object.keys(files).map((file) => /^src\/([^/]+)\//.exec(file)?.[1] ?? "entry");
  const closed = Object.fromEntries(named.map((name): [string, Room] => [name, { opens: [] }]));
  const { sources } = inspect(folder, { table: { ...table, rooms: closed }, words });
  const imports = roomImports(sources, { ...table, rooms: closed });
  const inhabited = [...imports].filter(([name]) => sources.some(({ room }) => room === name));
  const rooms = inhabited.map(([name, others]): [string, Room] => [name, { opens: [...others] }]);
  return { table: { ...table, rooms: Object.fromEntries(rooms) }, words, tableText };
}

/** What the checks find, one line each. Without `rooms`, each room may open what it imports. */
export function check(files: Files, given: FakeRules = {}): string[] {
  const folder = fakeProject(files);
  const violations = checkDoors(folder, fakeRules(folder, files, given));
  return violations.map(({ file, line, message }) => `${file}:${line} ${message}`);
}
