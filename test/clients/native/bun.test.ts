/** The clients that only Bun has, in the real Bun: test/clients/bun/suite.ts. `npm run clients` fetches it. */
import { spawn } from "node:child_process";
import { expect, it } from "vitest";
import { bunProgram } from "../../../tools/fetched.mjs";
import { root } from "../../../tools/project.mjs";
import { describeOn } from "../../support/databases.ts";
import { POSTGRES_URL, postgresUrl } from "../../support/postgres-url.ts";
import { CHECKS } from "../conformance.ts";
import { SYNC_CHECKS } from "../sync-conformance.ts";

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

async function runSuite(): Promise<Ended> {
  const args = ["test", "./test/clients/bun/suite.ts", "--timeout", "60000"];
  const env = { ...process.env, [POSTGRES_URL]: postgresUrl(), NO_COLOR: "1", FORCE_COLOR: "0" };
  const child = spawn(await bunProgram(), args, { cwd: root, env });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => (output += text));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}

/** The checks that passed, by client. */
function passedIn(output: string): ReadonlyMap<string, readonly string[]> {
  const passed = new Map<string, string[]>();
  for (const [, client = "", title = ""] of output.matchAll(/^\(pass\) (.+?) > (.+?)(?: \[[\d.]+m?s\])?$/gm))
    passed.set(client, [...(passed.get(client) ?? []), title]);
  return passed;
}

describeOn("postgres", () => {
  it("[C-01][C-02][C-03] in Bun its SQL, `bun:sqlite` and Drizzle over both and over `node:sqlite` pass every check", async () => {
    const { code, output } = await runSuite();
    const all = CHECKS.map(({ title }) => title);
    const sync = SYNC_CHECKS.map(({ title }) => title);
    if (code !== 0) console.error(output);
    expect(Object.fromEntries(passedIn(output))).toEqual({
      "Bun's SQL": all,
      "Drizzle over Bun's SQL": all,
      "bun:sqlite": sync,
      "Drizzle over bun:sqlite": sync,
      "Drizzle over node:sqlite": sync,
    });
    expect(code).toBe(0);
  });
});
