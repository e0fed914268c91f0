/** The page about stability names what there is. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { AUDIT_TYPES } from "../../src/audit/event.ts";
import { deliveryMachine } from "../../src/core/delivery/machine.ts";
import { flowMachine } from "../../src/core/flow/machine.ts";
import { outboxMachine } from "../../src/core/outbox/machine.ts";
import { sagaMachine } from "../../src/core/saga/machine.ts";
import { raw } from "../../src/storage/sql.ts";
import { root } from "../../tools/project.mjs";
import { onDatabase } from "../support/databases.ts";

const read = (file: string): string => readFileSync(path.join(root, file), "utf8");
const page = read("docs/stability.md");

/** The words in backticks of the row that begins with this. */
function row(title: string): readonly string[] {
  const line = page.split("\n").find((text) => text.replaceAll(/ +/g, " ").startsWith(`| ${title} |`)) ?? "";
  return [...line.slice(title.length + 3).matchAll(/`([^`]+)`/g)].map(([, word = ""]) => word);
}

it("the page about stability names every entry, status and exit code", () => {
  const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, unknown> };
  const entries = Object.keys(exports).filter((door) => !door.endsWith(".json"));
  expect([...row("Entries")].toSorted()).toEqual(
    entries.map((door) => path.posix.join("amends", door)).toSorted(),
  );
  const states = {
    "Statuses of a saga": sagaMachine.states,
    "Statuses of a run of an event saga": flowMachine.states,
    "Statuses of an entry of the outbox": outboxMachine.states,
    "Statuses of a webhook delivery": deliveryMachine.states,
  };
  for (const [title, all] of Object.entries(states))
    expect([title, ...[...row(title)].toSorted()]).toEqual([title, ...[...all].toSorted()]);
  expect(row("Audit events")).toEqual([AUDIT_TYPES[0], AUDIT_TYPES.at(-1)]);
  const codes = [...read("docs/guides/cli.md").matchAll(/^\| (\d) +\|/gm)].map(([, code]) => code);
  for (const code of codes) expect(page).toContain(`${code} (`);
});

onDatabase("sqlite", (database) => {
  it("[S-03][F-14][W-01] the tables that are meant for reading have the columns that the page names", async () => {
    const db = await database.open();
    const tables = [...page.matchAll(/^\| `(\w+)` +\| ((?:`\w+`(?:, )?)+)/gm)];
    expect(tables.length).toBeGreaterThan(5);
    for (const [, table = "", columns = ""] of tables) {
      const found = await db.query(raw(`select name from pragma_table_info('amends_${table}')`));
      const names = found.map(({ name }) => String(name));
      const named = [...columns.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
      expect([table, named.filter((name) => !names.includes(name))]).toEqual([table, []]);
    }
  });
});
