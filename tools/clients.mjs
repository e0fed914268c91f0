/**
 * The database clients of test/clients, a package of its own: Drizzle, Prisma, TypeORM and others.
 *
 *   npm run clients        installs them and runs the whole suite on each; `npm test` runs one check on each
 *
 * Arguments go to vitest.
 */
import { statSync } from "node:fs";
import path from "node:path";
import { ensureInstalled, isMain, node, program, root, toolMain } from "./project.mjs";

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

if (isMain(import.meta.url)) {
  await toolMain(async () => {
    await ensureInstalled();
    await ensureClients();
    const env = { AMENDS_CLIENTS: "1", AMENDS_TEST_REPORT: ".amends/clients-report.json" };
    const args = ["run", "test/clients/", ...process.argv.slice(2)];
    const outcome = await program("vitest", args, { show: true, env });
    if (!outcome.ok) process.exitCode = 1;
  });
}
