import { createContext, runInContext } from "node:vm";
import { generateWebhookKeyPair, generateWebhookSecret, signWebhook } from "amends/webhooks";
import { build, type Rolldown } from "vite";
import { beforeAll, describe, expect, it } from "vitest";
import type { verifyWebhook } from "amends/webhooks/receive";

const SOURCES = new URL("../../../src/", import.meta.url).pathname;

/** The entry as one script, the way a bundler makes it for the edge. */
async function bundled(): Promise<Rolldown.OutputChunk> {
  const [made] = (await build({
    configFile: false,
    logLevel: "silent",
    build: {
      write: false,
      minify: false,
      lib: { entry: `${SOURCES}webhooks-receive.ts`, formats: ["iife"], name: "receive" },
    },
  })) as Rolldown.RolldownOutput[];
  const chunk = made?.output[0];
  if (!chunk) throw new Error("The bundle is empty.");
  return chunk;
}

describe("a receiver at the edge", () => {
  let chunk: Rolldown.OutputChunk;
  beforeAll(async () => {
    chunk = await bundled();
  });

  it("[W-16] is made of a few files of the core and of the receiver, without Node.js and without packages", () => {
    const files = chunk.moduleIds.map((id) => id.replace(SOURCES, "")).toSorted();
    expect(files.filter((file) => !/^(?:core|webhooks\/receive)\//.test(file))).toEqual([
      "webhooks-receive.ts",
    ]);
    expect([...chunk.imports, ...chunk.dynamicImports]).toEqual([]);
  });

  it("[W-16] verifies and refuses where only the globals of the web exist", async () => {
    const web = createContext({ crypto, TextEncoder, atob, btoa, performance });
    const receive = runInContext(`${chunk.code}; receive`, web) as { verifyWebhook: typeof verifyWebhook };
    const { privateKey, publicKey } = generateWebhookKeyPair();
    const shared = generateWebhookSecret();
    const now = new Date(1_900_000_000_000);
    const signed = signWebhook({ id: "m", timestamp: 1_900_000_000, body: "{}" }, [shared, privateKey]);
    for (const secret of [shared, publicKey]) {
      const headers = new Headers({ ...signed });
      expect((await receive.verifyWebhook(headers, "{}", secret, { now })).id).toBe("m");
      await expect(receive.verifyWebhook(headers, "{ }", secret, { now })).rejects.toMatchObject({
        reason: "bad_signature",
      });
    }
  });
});
