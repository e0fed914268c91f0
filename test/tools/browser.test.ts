import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it } from "vitest";
import { findBrowser } from "../../tools/browser.mjs";

it("CHROME_PATH names the browser, before the package and the PATH", async () => {
  const env = { CHROME_PATH: "/opt/mine" };
  expect(await findBrowser({ env, platform: "linux-x64" })).toEqual({ executablePath: "/opt/mine", env: {} });
});

it("on Linux the browser comes from npm, with its libraries and its fonts", async () => {
  const { executablePath, env } = await findBrowser({ env: {}, platform: "linux-x64" });
  expect(existsSync(executablePath)).toBe(true);
  expect(existsSync(path.join(env["LD_LIBRARY_PATH"] ?? "", "libnss3.so"))).toBe(true);
  expect(existsSync(path.join(env["FONTCONFIG_PATH"] ?? "", "fonts.conf"))).toBe(true);
});

it("elsewhere it is looked for on the PATH; where there is none, the message says what to install", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-path-"));
  const machine = { env: { PATH: `/nowhere${path.delimiter}${folder}` }, platform: "darwin-arm64" };
  await expect(findBrowser(machine)).rejects.toThrow(
    "No browser was found for darwin-arm64. Install Chromium or Chrome, so that it is on the PATH, or set CHROME_PATH to its program.",
  );
  writeFileSync(path.join(folder, "google-chrome"), "");
  expect(await findBrowser(machine)).toEqual({
    executablePath: path.join(folder, "google-chrome"),
    env: {},
  });
  rmSync(folder, { recursive: true });
});
