/** A config is code of the user's: it may print, and it may never come to its end. */
import { createAmends, type AmendsConfig } from "amends/config";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { loadConfig } from "../../src/cli/config/load-config.ts";
import { cli } from "./support/cli.ts";

function folderWith(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "amends-config-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, name), text);
  return folder;
}

it("[P-03] what a config prints while it is loaded goes where it spoils no answer", async () => {
  const folder = folderWith(
    "amends.config.mjs",
    `process.stdout.write("hello from the config"); export default { database: ":memory:", sagas: [] };`,
  );
  const written: string[] = [];
  const [out, err] = [process.stdout, process.stderr].map((stream) =>
    vi.spyOn(stream, "write").mockImplementation((text) => written.push(String(text)) > 0),
  );
  try {
    await loadConfig(join(folder, "amends.config.mjs"), folder);
    expect(written.join("")).toContain("hello from the config");
    expect(out).not.toHaveBeenCalled();
  } finally {
    out?.mockRestore();
    err?.mockRestore();
  }
});

it("[P-03] a config that waits for ever is told, not waited for", async () => {
  const folder = folderWith(
    "amends.config.mjs",
    "await new Promise(() => undefined); export default { sagas: [] };",
  );
  await expect(loadConfig(join(folder, "amends.config.mjs"), folder, 20)).rejects.toThrow(
    /amends\.config\.mjs is still being loaded/,
  );
});

it.each(["[]", "null", '"text"', '{"scripts": []}', "{"])(
  "[P-03] a package.json that is %s is left as it is, and nothing is written beside it",
  async (text) => {
    const folder = folderWith("package.json", text);
    const ran = await cli(["init"], { cwd: folder });
    expect([ran.code, ran.out]).toEqual([1, ""]);
    expect(ran.err).toMatch(/package\.json cannot be read/);
  },
);

it("[P-03] a config that mixes kinds of modules is told what to change, and not with the internals of a loader", async () => {
  const url = `data:text/javascript,${"x".repeat(15_000)}`;
  for (const said of [
    "Cannot require() ES Module /shop/amends.config.ts in a cycle.",
    `no export in '${url}'`,
  ]) {
    const folder = folderWith("amends.config.mjs", `throw new Error(${JSON.stringify(said)});`);
    const run = (env: Record<string, string> = {}): ReturnType<typeof cli> =>
      cli(["list"], { cwd: folder, env });
    writeFileSync(join(folder, "package.json"), "{}");
    const { code, err } = await run();
    expect([code, err]).toEqual([
      1,
      'error: amends.config.mjs cannot be loaded. This project has no "type": "module".\n' +
        "       Add it to package.json, or name the file amends.config.mts and import with file extensions.\n",
    ]);
    expect((await run({ AMENDS_DEBUG: "1" })).err).not.toContain("xxxx");
  }
  // In a project of modules the message is another one, without the text of the file.
  const folder = folderWith(
    "amends.config.mjs",
    `throw new Error(${JSON.stringify(`no export in '${url}'`)});`,
  );
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  const { err } = await cli(["list"], { cwd: folder });
  expect(err).toContain("cannot be loaded: no export in 'data:…'");
});

it("[P-03] a config that is undefined names the import cycle that is its usual cause", () => {
  const config = undefined as unknown as AmendsConfig;
  expect(() => createAmends(config)).toThrow(
    /^The config is undefined: it is probably imported in a cycle \(config → saga → this file\)/,
  );
});
