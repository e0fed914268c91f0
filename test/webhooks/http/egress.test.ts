/** There is one door to the outside. A second one would not have the guard in front of it. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { root } from "../../../tools/project.mjs";
import { blank, importsOf } from "../../../tools/source-text.mjs";
import { compiledScript } from "../../support/built.ts";

const src = path.join(root, "src");

/**
 * The console listens, its pages ask their own server, and so does the command line; resolvers call whom the writer of the
 * program names. None of them calls an address that a stranger chose.
 */
const sources = readdirSync(src, { recursive: true, encoding: "utf8" })
  .map((name) => name.split(path.sep).join("/"))
  .filter((name) => name.endsWith(".ts") && !/^(?:cli|console|resolvers)\//.test(name))
  .map((name) => ({ name, text: readFileSync(path.join(src, name), "utf8") }));

const OUTBOUND =
  /^(?:node:)?(?:net|tls|dns|dns\/promises|http|https|http2|dgram|undici|axios|got|node-fetch)$/;

it("[W-18] nothing but the sending of webhooks opens connections by itself", () => {
  const opening = sources.filter(({ text }) =>
    importsOf(text).some(({ specifier, typeOnly }) => !typeOnly && OUTBOUND.test(specifier)),
  );
  expect(opening.map(({ name }) => name)).toEqual([
    "webhooks/http/address.ts",
    "webhooks/http/client.ts",
    "webhooks/http/connector.ts",
    "webhooks/http/target.ts",
  ]);
  const fetching = sources.filter(({ text }) =>
    /\bfetch\s*\(|\bnew\s+WebSocket\b|\bXMLHttpRequest\b/.test(blank(text)),
  );
  // A client of Restate asks the server that its user names, and is loaded by nothing else.
  expect(fetching.map(({ name }) => name)).toEqual(["restate/client/ingress.ts"]);
});

it("[W-18] only one file connects", () => {
  const connecting = sources.filter(({ text }) =>
    importsOf(text).some(({ specifier }) => /^node:(?:tls|dns\/promises)$/.test(specifier)),
  );
  expect(connecting.map(({ name }) => name)).toEqual(["webhooks/http/connector.ts"]);
});

it("the HTTP client is not loaded before a webhook is sent", async () => {
  const script = `
    import { createRequire } from "node:module";
    await import(process.argv[1]);
    const { createSender } = await import(process.argv[2]);
    const loaded = () => Object.keys(createRequire(process.argv[2]).cache).filter((file) => /node_modules.undici./.test(file)).length > 0;
    const sender = createSender({ allowNetworks: ["127.0.0.1"], allowPorts: "any", allowHttp: true });
    const before = loaded();
    await sender.send({ url: "http://127.0.0.1:9/", body: Buffer.from("x"), id: "m", timestamp: 1, secrets: ["whsec_" + "A".repeat(32)] });
    console.log(before, loaded());
    await sender.close();`;
  const receivers = await compiledScript("src/webhooks.ts");
  const sending = await compiledScript("src/webhooks/http/send.ts");
  const args = ["--input-type=module", "-e", script, receivers, sending];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout).toBe("false true\n");
});
