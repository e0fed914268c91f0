/**
 * The database clients of test/clients, a package of its own: Drizzle, Prisma, TypeORM and others.
 *
 *   npm run clients        installs them and Bun, and runs the whole suite on each; `npm test` runs one check on each
 *
 * Arguments go to vitest.
 */
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { bunProgram } from "./fetched.mjs";
import { ensureInstalled, isMain, node, npm, program, progress, root, toolMain } from "./project.mjs";

const folder = path.join(root, "test", "clients");

/** Installs the clients, and generates Prisma's, unless that is done already. */
export async function ensureClients() {
  await ensureInstalled(folder);
  const [schema, made] = ["schema.prisma", "generated/client.ts"].map(
    (name) => statSync(path.join(folder, "prisma", name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  );
  if (Number(made) > Number(schema)) return;
  // The generator needs no engine, but its command line would fetch one.
  const env = { PRISMA_SCHEMA_ENGINE_BINARY: process.execPath, PRISMA_HIDE_UPDATE_MESSAGE: "1" };
  const cli = path.join(folder, "node_modules", "prisma", "build", "index.js");
  const generated = await node([cli, "generate", "--schema", "prisma/schema.prisma"], { cwd: folder, env });
  if (!generated.ok) throw new Error(`prisma generate failed:\n${generated.output}`);
}

/** better-sqlite3 is compiled at its installation, which takes a minute without its prebuilt binaries. */
async function ensureNative() {
  const library = path.join(folder, "node_modules", "better-sqlite3");
  if (existsSync(path.join(library, "build", "Release", "better_sqlite3.node"))) return;
  await progress("building better-sqlite3", async () => {
    const built = await npm(["rebuild", "better-sqlite3", "--foreground-scripts"], folder);
    if (!built.ok) throw new Error(`npm rebuild better-sqlite3 failed:\n${built.output}`);
  });
}

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    await ensureInstalled();
    await ensureClients();
    await ensureNative();
    await bunProgram();
    const env = { AMENDS_CLIENTS: "1", AMENDS_TEST_REPORT: ".amends/clients-report.json" };
    const args = ["run", "test/clients/", ...process.argv.slice(2)];
    const outcome = await program("vitest", args, { show: true, env });
    if (!outcome.ok) process.exitCode = 1;
  });
}
