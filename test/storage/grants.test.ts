/** Least privilege: a login for each process of an application, with the rights that Amends grants and no others. */
import { saga } from "amends";
import { postgres } from "amends/postgres";
import pg from "pg";
import { expect, inject, it, onTestFinished } from "vitest";
import { z } from "zod";
import { migrate } from "../../src/storage/migrations/migrate.ts";
import { printGrants } from "../../src/storage/migrations/print.ts";
import { raw } from "../../src/storage/sql.ts";
import { onDatabase, type TestDatabase } from "../support/databases.ts";
import { OWN_TABLES, PROCESSES, runEveryPart, type Process } from "../support/every-part.ts";

const one = saga("one", z.object({})).step("one", { act: () => 1 });

async function asAdmin(statement: string, url: string = inject("postgresUrl")): Promise<void> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A login without any right of its own, and the URL of this test's database for it. */
async function loginTo(database: TestDatabase, name: string): Promise<{ login: string; url: string }> {
  const url = new URL(await database.place());
  const login = `${url.pathname.slice(1)}_${name}`;
  await asAdmin(`create role ${login} login password 'secret'`);
  // After the database is dropped, which its rights are in.
  onTestFinished(() => asAdmin(`drop role ${login}`));
  url.username = login;
  url.password = "secret";
  return { login, url: url.href };
}

/** The application's own tables are the application's affair. */
async function ownTables(database: TestDatabase, logins: readonly string[]): Promise<void> {
  const place = await database.place();
  for (const statement of OWN_TABLES) await asAdmin(statement, place);
  await asAdmin(`grant select, insert, update, delete on customers, orders to ${logins.join(", ")}`, place);
}

async function loginsOf(
  database: TestDatabase,
): Promise<Readonly<Record<Process, { login: string; url: string }>>> {
  const made = await Promise.all(
    PROCESSES.map(async (name) => [name, await loginTo(database, name)] as const),
  );
  return Object.fromEntries(made) as Record<Process, { login: string; url: string }>;
}

onDatabase("postgres", (database) => {
  it("[C-06] four logins with the rights of their processes run every part, and none needs more", async () => {
    const owner = await database.open();
    const logins = await loginsOf(database);
    const { app, worker, console, retention } = logins;
    const grants = {
      app: app.login,
      worker: worker.login,
      console: console.login,
      retention: retention.login,
    };
    await migrate(owner, { grants });
    await migrate(owner, { grants });
    await ownTables(database, Object.values(grants));
    const everything = runEveryPart({
      url: app.url,
      open: (process) => postgres({ url: logins[process].url, connections: 2 }),
    });
    await expect(everything).resolves.toBeUndefined();
  });

  it("[C-06] the printed grants of one login suffice for every part but retention", async () => {
    const owner = await database.open();
    const { login, url } = await loginTo(database, "app");
    const keeper = await loginTo(database, "keeper");
    await asAdmin(printGrants(owner.dialect, login), await database.place());
    await asAdmin(printGrants(owner.dialect, keeper.login, "retention"), await database.place());
    await ownTables(database, [login, keeper.login]);
    const everything = runEveryPart({
      url,
      open: (process) => postgres({ url: process === "retention" ? keeper.url : url, connections: 2 }),
    });
    await expect(everything).resolves.toBeUndefined();
  });

  it.each([
    [
      "app",
      [
        "delete from amends.saga_executions",
        "update amends.saga_logs set details = null",
        "delete from amends.outbox",
        "update amends.webhook_jobs set token = 0",
        "create table amends.mine ()",
      ],
    ],
    [
      "worker",
      [
        "delete from amends.saga_executions",
        "select secrets from amends.webhook_subscriptions",
        "update amends.webhook_subscriptions set url = ''",
        "delete from amends.audit_events",
      ],
    ],
    [
      "console",
      [
        "insert into amends.saga_signals select * from amends.saga_signals",
        "delete from amends.saga_logs",
        "insert into amends.webhook_subscription_types values (1, '*')",
      ],
    ],
    [
      "retention",
      [
        "update amends.saga_executions set status = 'FAILED'",
        "delete from amends.audit_events",
        "delete from amends.operator_actions",
      ],
    ],
  ] as const)("[C-06] the login of %s may do nothing else", async (process, statements) => {
    const owner = await database.open();
    const { login, url } = await loginTo(database, process);
    await migrate(owner, { grants: { [process]: login } });
    for (const statement of statements)
      await expect(asAdmin(statement, url)).rejects.toMatchObject({ code: "42501" });
  });

  it("[C-06] a call and a worker that lack a right name the login, the right and the table, and do not try again", async () => {
    const owner = await database.open();
    const { login, url } = await loginTo(database, "app");
    await migrate(owner, { grants: { app: login, worker: login } });
    await owner.query(raw(`revoke insert on amends.saga_executions from ${login}`));
    const amends = await database.amends({ database: postgres({ url, connections: 2 }), sagas: [one] });
    const refusal = {
      code: "DATABASE_FORBIDDEN",
      message: expect.stringMatching(
        new RegExp(`"${login}" lacks .*insert on amends\\.saga_executions.*--print-grants`),
      ) as unknown,
    };
    await expect(amends.start(one, {})).rejects.toMatchObject(refusal);
    await expect(amends.worker().start()).rejects.toMatchObject(refusal);
  });

  it("[C-06] a role that may not create schemas migrates into one that was made for it", async () => {
    await database.open({ migrated: false });
    const { login, url } = await loginTo(database, "owner");
    const db = postgres({ url, connections: 1 });
    await expect(migrate(db)).rejects.toMatchObject({
      code: "DATABASE_FORBIDDEN",
      message: expect.stringMatching(
        // An application's login gets rights; only an owner gets the schema.
        new RegExp(`Run \`amends migrate\` as the owner.*--print-grants ${login}.*Only .* own the tables`),
      ) as unknown,
    });
    await asAdmin(`create schema amends authorization ${login}`, await database.place());
    expect(await migrate(db)).toEqual(["initial"]);
    expect(await migrate(db)).toEqual([]);
    await db.close();
  });

  it("[C-06] names that are no roles, and processes that do not exist, are refused", async () => {
    const db = await database.open();
    for (const name of ["", 'a"b', "a; drop", "x".repeat(64)])
      await expect(migrate(db, { grants: { app: name } })).rejects.toMatchObject({ code: "BAD_OPTION" });
    await expect(migrate(db, { grants: { boss: "x" } as object })).rejects.toMatchObject({
      code: "BAD_OPTION",
    });
  });
});
