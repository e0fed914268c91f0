import { describe, expect, it } from "vitest";
import { check } from "../support/fake-project.ts";

const SQL = 'import sql, { raw, Sql } from "sql-template-tag";\nexport { raw, sql, Sql };\n';

describe("SQL", () => {
  it("stands in storage and in query files; its types go everywhere", () => {
    const found = check({
      "src/storage/sql.ts": SQL,
      "src/storage/claim.ts": 'import { sql } from "./sql.ts";\nexport const claim = sql`select 1`;\n',
      "src/outbox/queries.ts":
        'import { sql } from "../storage/sql.ts";\nexport const due = sql`select 1`;\n',
      "src/outbox/claim-queries.ts":
        'import { raw, type Sql } from "../storage/sql.ts";\nexport const one: Sql = raw("1");\n',
      "src/outbox/settle.ts":
        'import type { Sql } from "../storage/sql.ts";\nimport { type Sql as Again } from "../storage/sql.ts";\nexport type Two = Sql | Again;\n',
      "src/outbox/told.ts": '// import { sql } from "../storage/sql.ts";\nexport const text = `select 1`;\n',
    });
    expect(found).toEqual([]);
  });

  it("is refused elsewhere, however its values are taken", () => {
    const found = check({
      "src/storage/sql.ts": SQL,
      "src/outbox/settle.ts":
        '/** Why. */\nimport {\n  raw,\n  sql as statement,\n  type Sql,\n} from "../storage/sql.ts";\nexport const a: Sql = statement`${raw("1")}`;\n',
      "src/outbox/is-statement.ts": 'import { Sql } from "../storage/sql.ts";\nexport const a = Sql;\n',
      "src/outbox/late.ts": 'export const late = import("../storage/sql.ts");\n',
      "src/outbox/package.ts": 'import sql from "sql-template-tag";\nexport const a = sql`select 1`;\n',
      "src/outbox/whole.ts": 'import * as all from "../storage/sql.ts";\nexport const a = all;\n',
      "src/outbox/subqueries.ts":
        'import { sql } from "../storage/sql.ts";\nexport const a = sql`select 1`;\n',
      "src/outbox/queries.ts": 'export { sql, type Sql } from "../storage/sql.ts";\n',
    });
    const where = "SQL stands only in storage/ and in files named *queries.ts";
    expect(found).toEqual([
      `src/outbox/is-statement.ts:1 imports \`Sql\`; ${where}`,
      `src/outbox/late.ts:1 imports \`*\`; ${where}`,
      `src/outbox/package.ts:1 imports \`default\`; ${where}`,
      "src/outbox/queries.ts:1 `sql` may not be exported again; import it where it is used",
      `src/outbox/settle.ts:2 imports \`raw\`, \`sql\`; ${where}`,
      `src/outbox/subqueries.ts:1 imports \`sql\`; ${where}`,
      `src/outbox/whole.ts:1 imports \`*\`; ${where}`,
    ]);
  });
});

describe("tables", () => {
  const tables = { outbox: "outbox", saga_logs: "sagas", webhook_jobs: "webhooks/deliver/job-queries.ts" };
  const made = {
    "src/storage/migrations/0001-all.ts":
      'export const all = (d) => [d.table("outbox"), d.table("saga_logs"), d.table("webhook_jobs")];\n',
    "src/outbox/queries.ts": 'export const q = (d) => d.table("outbox");\n',
    "src/sagas/journal/queries.ts": 'export const q = (d) => d.table("saga_logs");\n',
    "src/webhooks/deliver/job-queries.ts": 'export const q = (d) => d.table("webhook_jobs");\n',
  };

  it("are named by their owner: a room with its folders, or one file", () => {
    expect(check(made, { tables })).toEqual([]);
  });

  it("are named by nobody else, in a call, as a name of their own or in SQL", () => {
    const found = check(
      {
        ...made,
        "src/console/queries.ts": [
          "// The table saga_logs is not read here.",
          'export const a = (d) => [d.table("saga_logs"), d.table("saga_logs")];',
          'export const b = { table: "outbox", part: "outbox" };',
          "export const c = sql`select ${1} from webhook_jobs`;",
          'export const d = "no outbox, no saga_logs";',
        ].join("\n"),
        "src/operate/queries.ts": 'export const names = ["outbox", "webhook_jobs"];\n',
        "src/storage/claim.ts": 'export const q = (d) => d.table("outbox");\n',
        "src/webhooks/deliver/queries.ts": 'export const q = (d) => d.table(\n  "webhook_jobs",\n);\n',
        "src/webhooks/publish.ts": "export const queue = { what: 'outbox', whose: `outbox` };\n",
      },
      { tables },
    );
    const file = "webhooks/deliver/job-queries.ts";
    expect(found).toEqual([
      "src/console/queries.ts:2 names the table saga_logs, which sagas owns; ask sagas for the rows",
      "src/console/queries.ts:3 names the table outbox, which outbox owns; ask outbox for the rows",
      `src/console/queries.ts:4 names the table webhook_jobs, which ${file} owns; ask ${file} for the rows`,
      `src/operate/queries.ts:1 names the table webhook_jobs, which ${file} owns; ask ${file} for the rows`,
      "src/storage/claim.ts:1 names the table outbox, which outbox owns; ask outbox for the rows",
      `src/webhooks/deliver/queries.ts:2 names the table webhook_jobs, which ${file} owns; ask ${file} for the rows`,
    ]);
  });

  it("have an owner that exists, and a migration that makes them", () => {
    const found = check(
      { ...made, "src/storage/migrations/0002-more.ts": 'export const m = (d) => d.table("subjects");\n' },
      { tables: { ...tables, saga_state: "events", outbox_old: "outbox" } },
    );
    expect(found).toEqual([
      "src/storage/migrations/0002-more.ts:1 the table subjects has no owner in tools/doors.json",
      'tools/doors.json:1 "events", the owner of saga_state, does not exist',
      "tools/doors.json:1 no migration names the table outbox_old; remove it",
    ]);
  });
});
