/** What can be wrong with a database or a console is said in one line, with what to do, and without a secret. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, it } from "vitest";
import { describeOn, onDatabase, onEachDatabase } from "../support/databases.ts";
import { secretsOf } from "../../src/cli/program/secrets.ts";
import { cli } from "./support/cli.ts";

const SECRET = "sesame-open";

async function refused(
  argv: readonly string[],
  code: number,
  message: RegExp,
  env: Record<string, string> = {},
): Promise<void> {
  const ran = await cli(argv, { env });
  expect([argv[0], ran.code, ran.out]).toEqual([argv[0], code, ""]);
  expect(ran.err).toMatch(message);
  expect(ran.err).not.toContain(SECRET);
  expect(ran.err).not.toMatch(/\n\s+at /);
  expect(ran.err.trimEnd().split("\n").length).toBeLessThanOrEqual(2);
}

it("[P-03] a database that cannot be is refused as called wrongly", async () => {
  expect.hasAssertions();
  await refused(
    ["list", "--database", `postgres://app:${SECRET}@host:99999999/db`],
    2,
    /^usage: This PostgreSQL URL cannot be read/,
  );
  await refused(["list", "--database", `postgres://app:${SECRET}@[::/db`], 2, /cannot be read/);
  await refused(
    ["list", "--database", `mysql://app:${SECRET}@host/db`],
    2,
    /postgres:\/\/ URL or a SQLite file; mysql: is neither/,
  );
  await refused(["list"], 2, /cannot be read/, { DATABASE_URL: `postgres://app:${SECRET}@:::/` });
  await refused(["list", "--database", "x.db", "--schema", "shop"], 2, /--schema is for PostgreSQL/);
});

it("[X-03] a password is hidden, also if it is the user's name; one that is the database's name is printed with it anyway", () => {
  expect(secretsOf(["list", "--database", "postgres://shop:shop@db/shop"], {})).toEqual([]);
  expect(secretsOf([], { DATABASE_URL: "postgres://shop:shop@db/orders" })).toContain("shop");
});

it("[P-03][X-03] a server that is away: what to do, and never the password", async () => {
  await refused(
    ["list", "--database", `postgres://app:${SECRET}@127.0.0.1:1/db`],
    1,
    /^error: The database at 127\.0\.0\.1:1 cannot be reached: nothing listens there\.\n/,
  );
  // A stray blank makes no file's name of a URL.
  await refused(["list"], 1, /nothing listens there/, {
    DATABASE_URL: ` postgres://app:${SECRET}@127.0.0.1:1/db `,
  });
  // The stack is for whoever asks for it, and has no secret either.
  const debug = await cli(["list", "--database", `postgres://app:${SECRET}@[::/db`], {
    env: { AMENDS_DEBUG: "1" },
  });
  expect([debug.err.includes(SECRET), /\n\s+at /.test(debug.err)]).toEqual([false, true]);
});

describeOn("postgres", () => {
  it("[P-03][X-03] a missing database, a wrong password: what to do, and never the password", async () => {
    const url = new URL(inject("postgresUrl"));
    url.pathname = "/no_such_database";
    const missing = /^error: There is no such database on this server\.\n/;
    await refused(["list", "--database", url.href], 1, missing);
    // A role of its own, which must give a password that it has not.
    url.username = "nobody_at_all";
    url.password = SECRET;
    await expect(
      refused(["status", "--database", url.href], 1, /^error: The database does not/),
    ).resolves.toBeUndefined();
  });
});

it("[P-03] a SQLite file that is not there is not made by looking", async () => {
  expect.hasAssertions();
  const folder = mkdtempSync(join(tmpdir(), "amends-cli-"));
  await refused(
    ["list", "--database", join(folder, "typo.db")],
    1,
    /^error: There is no SQLite file .*typo\.db\.\n.*amends migrate --database \S+typo\.db\n$/,
  );
  await refused(
    ["migrate", "--database", join(folder, "no", "such", "a.db")],
    1,
    /There is no folder for the SQLite file/,
  );
  writeFileSync(join(folder, "text.db"), "this is no database, however long it goes on".repeat(50));
  for (const name of ["list", "migrate"])
    await refused(
      [name, "--database", join(folder, "text.db")],
      1,
      /^error: \S+text\.db is not a SQLite database\.\n/,
    );
  await refused(["list", "--database", folder], 1, /is not a SQLite database/);
  const doctor = await cli(["doctor", "--database", join(folder, "text.db")]);
  expect(doctor.out).toMatch(
    /✗ database +\S+text\.db is not a SQLite database\.\n +→ Check the file name\.\n/,
  );
  expect(doctor.out).not.toContain("✗ config");
  writeFileSync(join(folder, "empty.db"), "");
  expect((await cli(["migrate", "--database", join(folder, "empty.db")])).code).toBe(0);
  rmSync(folder, { recursive: true });
});

onEachDatabase((database) => {
  it("[P-03][K-21] without tables, commands say how to make them, and migrate does", async () => {
    const db = await database.open({ migrated: false });
    await db.open();
    const at = ["--database", await database.place()];
    for (const argv of [
      ["list"],
      ["status"],
      ["show", "x"],
      ["retry", "x", "--reason", "r"],
      ["console", "--port", "0"],
    ])
      await refused(
        [...argv, ...at],
        1,
        /^error: Amends' tables are missing here, or older than this version\.\n +Run: amends migrate\n$/,
      );
    const dry = await cli(["migrate", "--dry-run", "--json", ...at]);
    const { applied, missing } = JSON.parse(dry.out) as {
      applied: string[];
      missing: { name: string; statements: string[] }[];
    };
    expect([dry.code, applied]).toEqual([3, []]);
    expect(missing).toMatchObject([{ name: "initial" }]);
    expect(missing[0]?.statements).toContainEqual(expect.stringMatching(/^create table/i));
    const first = await cli(["migrate", ...at]);
    expect([first.code, first.err]).toEqual([0, ""]);
    expect(first.out).toMatch(/^applied {2}initial\n/);
    expect((await cli(["migrate", ...at])).out).toMatch(/^up to date: /);
    expect((await cli(["migrate", "--dry-run", ...at])).code).toBe(0);
    expect((await cli(["list", ...at])).code).toBe(0);
  });
});

onDatabase("postgres", (database) => {
  it("[P-03][W-13] migrate creates the roles, in another schema as well", async () => {
    const at = ["--database", await database.place(), "--schema", "other"];
    const { code, out } = await cli(["migrate", "--roles", "--json", ...at]);
    expect([code, (JSON.parse(out) as { roles: boolean }).roles]).toEqual([0, true]);
    expect((await cli(["list", ...at])).code).toBe(0);
    expect((await cli(["list", "--database", await database.place()])).err).toContain("Run: amends migrate");
  });
});

onDatabase("sqlite", (database) => {
  it("[P-03] SQLite has no roles, and says so", async () => {
    const { code, err } = await cli(["migrate", "--roles", "--database", await database.place()]);
    expect([code, err]).toEqual([1, "error: SQLite has no roles: leave roles and grants out.\n"]);
  });
});

it("[P-03] a console that is away, or that is none, or that wants another token, is told apart", async () => {
  expect.hasAssertions();
  const answers: Record<string, [number, string]> = {
    "/api/overview": [200, "<html>"],
    "/api/sagas": [404, "nginx"],
    "/api/flows": [404, JSON.stringify({ code: "NOT_FOUND", message: "There is no route here." })],
    "/api/outbox": [
      401,
      JSON.stringify({ code: "WRONG_TOKEN", message: "This token is not valid, or was used before." }),
    ],
  };
  const server = createServer((request, response) => {
    const [status, body] = answers[new URL(request.url ?? "/", "http://x").pathname] ?? [500, ""];
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const at = ["--console", `http://127.0.0.1:${port}`, "--token", SECRET];
  await refused(
    ["list", "sagas", ...at],
    1,
    /^error: What answers at http:\/\/127\.0\.0\.1:\d+ is no console of Amends \(404\)/,
  );
  await refused(["status", ...at], 1, /^error: What answers at .* is no console of Amends/);
  await refused(["list", "flows", ...at], 1, /^error: The console at .* does not have flows\.\n/);
  await refused(
    ["list", "outbox", ...at],
    1,
    /^error: This token is not valid, or was used before\.\n +Look at AMENDS_TOKEN/,
  );
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await refused(["list", ...at], 1, /^error: The console at .* does not answer\.\n +Is it running there\?/);
});
