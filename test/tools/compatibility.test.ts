/** docs/compatibility.md says what works, and each row can be checked. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { findingsIn, projectFacts, rowsOf, type Facts } from "../../tools/compatibility.mjs";
import { root } from "../../tools/project.mjs";

const page = readFileSync(path.join(root, "docs/compatibility.md"), "utf8");

const facts: Facts = {
  exists: (file) => file === "test/there.ts",
  scripts: ["clients"],
  adapters: ["amends/knex"],
  clients: ["test/there.ts"],
  subjects: ["Knex", "Node.js 24"],
};

const GOOD =
  "| Knex | `amends/knex` | works | tested: `test/there.ts` |\n| Node.js 22, 24 | | refused | its reason |";

/** A page with these rows. */
function pageOf(...rows: readonly string[]): string {
  return ["## Clients", "", "| Client | Entry | Status | Shown by |", "|---|---|---|---|", ...rows, ""].join(
    "\n",
  );
}

it("[C-12] the table of compatibility has a row for each adapter, client, server, runtime and framework, and each row names a test that exists or a reason", () => {
  expect(rowsOf(page).length).toBeGreaterThan(50);
  expect(findingsIn(page, projectFacts())).toEqual([]);
});

it("[C-12] a missing test file, a missing script, a missing status and a missing reason are found", () => {
  expect(findingsIn(pageOf(GOOD), facts)).toEqual([]);
  const wrong = [
    "| A | | works | tested: `test/gone.ts` |",
    "| B | | works | tested: `npm run gone` |",
    "| C | | | tested: `test/there.ts` |",
    "| D | | refused | |",
    "| E | | works | surely |",
    "| F | | works | concluded: the server is the same |",
  ];
  expect(findingsIn(pageOf(GOOD, ...wrong), facts)).toEqual([
    "Clients, A: test/gone.ts does not exist",
    "Clients, B: there is no script gone",
    "Clients, C: its status is not works, refused or not supported",
    "Clients, D: it names no test and no reason",
    "Clients, E: it works, and names no test and nothing that this was concluded from",
  ]);
});

it("[C-12] an adapter, a client of the suite, and a version without a row are found", () => {
  expect(findingsIn(pageOf(), facts)).toEqual([
    "no row for amends/knex",
    "no row for test/there.ts",
    "no row for Knex",
    "no row for Node.js 24",
  ]);
  const { adapters, clients, subjects } = projectFacts();
  expect(adapters).toEqual(
    expect.arrayContaining(["amends/bun-sql", "amends/drizzle", "amends/postgres-js"]),
  );
  expect(clients).toContain("test/clients/bun/sqlite.ts");
  expect(subjects).toEqual(expect.arrayContaining(["PostgreSQL 18", "Node.js 26", "Bun", "Deno", "nest"]));
});
