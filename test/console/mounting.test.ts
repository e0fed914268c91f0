/** In whichever server the console stands, it answers the same. */
import {
  Agent,
  createServer,
  request as ask,
  type IncomingMessage,
  type RequestListener,
  type RequestOptions,
  type ServerResponse,
} from "node:http";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { readBody } from "../../src/console/http/body.ts";
import { listen } from "../../src/console/http/node-http.ts";
import { onEachDatabase } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";
import { PAGE, program, TOKENS, visit } from "./support/visit.ts";

const cleanups: (() => Promise<unknown> | void)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface Exchanged {
  readonly status: number | undefined;
  readonly connection: string | undefined;
  readonly reused: boolean;
}

function exchange(url: string, options: RequestOptions, body?: Buffer): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const sent = ask(url, options, (answer) => {
      const { statusCode: status, headers } = answer;
      answer.on("end", () => resolve({ status, connection: headers.connection, reused: sent.reusedSocket }));
      answer.resume();
    });
    sent.on("error", reject).end(body);
  });
}

/** Mounts as Express does: what stands before the rest of the address is taken away and kept beside it. */
function mounted(path: string, handler: RequestListener, parse: boolean): RequestListener {
  return (incoming, outgoing) => {
    const full = incoming.url ?? "/";
    const rest = full.slice(path.length);
    const pass = (body?: unknown): void => {
      const seen = Object.assign(incoming, { baseUrl: path, originalUrl: full, ...(parse && { body }) });
      seen.url = rest.startsWith("/") ? rest : `/${rest}`;
      handler(seen, outgoing);
    };
    if (!parse || incoming.method === "GET") return pass();
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => pass(JSON.parse(Buffer.concat(chunks).toString())));
  };
}

function assets(): string {
  const folder = mkdtempSync(join(tmpdir(), "amends-assets-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "assets"));
  writeFileSync(join(folder, "index.html"), "<!doctype html><title>Amends</title>");
  writeFileSync(join(folder, "assets", "index-Ab12Cd34.js"), "export {};");
  writeFileSync(join(folder, "secret.key"), "no type, not served");
  return folder;
}

onEachDatabase((database) => {
  it("[P-04] its own server is on this machine only, and its address signs in once", async () => {
    const { amends } = await openShop(database);
    const { console } = visit(amends, { tokens: [] });
    const server = await console.listen({ port: 0 });
    cleanups.push(() => server.close());
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    const token = new URL(server.signInUrl).hash.slice("#token=".length);
    expect((await fetch(`${server.url}api/session`)).status).toBe(401);
    const sent = { method: "POST", headers: PAGE, body: JSON.stringify({ token }) };
    const response = await fetch(`${server.url}api/session`, sent);
    expect(await response.json()).toMatchObject({ name: "operator", roles: ["read", "operate", "reveal"] });
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await fetch(`${server.url}api/sagas`, { headers: { cookie } })).status).toBe(200);
    expect((await fetch(`${server.url}api/session`, sent)).status).toBe(401);
    const stranger = await new Promise<IncomingMessage>((resolve, reject) =>
      ask(`${server.url}api/health`, { headers: { host: "evil.example" } }, resolve)
        .on("error", reject)
        .end(),
    );
    expect(stranger.statusCode).toBe(403);
    stranger.resume();
  });

  const MIB = 1_048_576;
  const refusals: readonly (readonly [string, number, Readonly<Record<string, string>>])[] = [
    ["too large", 413, { "content-length": String(2 * MIB) }],
    ["too large and of unknown length", 413, { "transfer-encoding": "chunked" }],
    ["from a stranger", 403, { "content-length": String(2 * MIB), host: "evil.example" }],
    ["without a token", 401, { "content-length": String(2 * MIB), authorization: "" }],
  ];
  it.each(refusals)(
    "[X-01] after a body that was refused as %s the connection answers the next request",
    async (_, status, headers) => {
      const { amends } = await openShop(database);
      const server = await visit(amends).console.listen({ port: 0 });
      cleanups.push(() => server.close());
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      cleanups.push(() => agent.destroy());
      const post = { agent, method: "POST", headers: { ...program("operator"), ...headers } };
      const refused = await exchange(`${server.url}api/sagas/o-1/retry`, post, Buffer.alloc(2 * MIB, 32));
      expect([refused.status, refused.connection]).toEqual([status, "keep-alive"]);
      const next = await exchange(`${server.url}api/health`, { agent });
      expect([next.status, next.reused]).toEqual([200, true]);
    },
  );

  it("[X-01] a body without an end is not read for ever: the answer says that the connection ends, and it ends", async () => {
    const { amends } = await openShop(database);
    const server = await visit(amends).console.listen({ port: 0 });
    cleanups.push(() => server.close());
    const { host, port } = new URL(server.url);
    const socket = connect(Number(port), "127.0.0.1");
    cleanups.push(() => void socket.destroy());
    const lines = ["POST /api/session HTTP/1.1", `host: ${host}`, "content-length: 999999999", "", ""];
    socket.write(lines.join("\r\n"));
    socket.write(Buffer.alloc(4 * MIB + 1, 32));
    let said = "";
    for await (const chunk of socket) said += String(chunk);
    expect(said).toMatch(/^HTTP\/1\.1 403 /);
    expect(said).toMatch(/\r\nconnection: close\r\n/i);
  });

  it("[X-01] a stranger that sends its headers or its body slowly is cut off", async () => {
    const { amends } = await openShop(database);
    const { console } = visit(amends);
    const server = await listen(console, "", { port: 0 }, { headersMs: 50, requestMs: 100 });
    cleanups.push(() => server.close());
    const { host, port } = new URL(server.url);
    const start = ["POST /api/session HTTP/1.1", `host: ${host}`, "x-amends-console: 1"];
    for (const sent of [
      [],
      [`${start.join("\r\n")}\r\n`],
      [[...start, "content-type: application/json", "content-length: 100", "", "{"].join("\r\n")],
    ]) {
      const socket = connect(Number(port), "127.0.0.1");
      cleanups.push(() => void socket.destroy());
      for (const text of sent) socket.write(text);
      let said = "";
      for await (const chunk of socket) said += String(chunk);
      expect(said).toMatch(/^HTTP\/1\.1 408 /);
    }
  });

  it("[X-01] a body that arrives slowly is refused where the server is the user's own, too", async () => {
    const body = new ReadableStream<Uint8Array>({ start: (stream) => stream.enqueue(Buffer.from("{")) });
    const headers = { "content-type": "application/json" };
    const request = new Request("http://localhost/", { method: "POST", headers, body, duplex: "half" });
    await expect(readBody(request, 20)).rejects.toMatchObject({ status: 408 });
  });

  it("[P-04] a live connection through the server ends when the server is closed", async () => {
    const { amends } = await openShop(database);
    const { console } = visit(amends);
    const server = await console.listen({ port: 0 });
    const response = await fetch(`${server.url}api/live`, { headers: program("reader") });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe("retry: 2000\n\n");
    await server.close();
    const end = await reader.read().then(
      ({ done }) => done,
      () => true,
    );
    expect(end).toBe(true);
  });

  it.each([true, false])(
    "[P-04] mounted as in Express, with a body parser before it or without (%s)",
    async (parse) => {
      const shop = await openShop(database);
      await shop.run("STALLED", "o-1");
      const { console } = visit(shop.amends);
      const url = await serve(mounted("/ops/console", console.handler, parse));
      const bare = await fetch(`${url}/ops/console?x=1`, { redirect: "manual" });
      expect([bare.status, bare.headers.get("location")]).toEqual([308, "/ops/console/?x=1"]);
      expect(bare.headers.get("x-content-type-options")).toBe("nosniff");
      const sent = { method: "POST", headers: PAGE, body: JSON.stringify({ token: TOKENS.operator.token }) };
      const response = await fetch(`${url}/ops/console/api/session`, sent);
      expect(response.headers.getSetCookie()[0]).toContain("Path=/ops/console;");
      const retried = await fetch(`${url}/ops/console/api/sagas/o-1/retry`, {
        method: "POST",
        headers: program("operator"),
        body: JSON.stringify({ reason: "mounted" }),
      });
      expect(await retried.json()).toMatchObject({ status: "COMPENSATING" });
    },
  );

  it("[P-04] mounted as in Fastify or Next, where the whole address arrives, and as in Hono, where a part is taken away", async () => {
    const { amends } = await openShop(database);
    const { console, ask: send } = visit(amends, { path: "/console", assets: assets() });
    const url = await serve((incoming: IncomingMessage, outgoing: ServerResponse) =>
      console.handler(incoming, outgoing),
    );
    for (const path of ["/console/api/health", "/api/health"]) {
      expect((await fetch(`${url}${path}`)).status).toBe(200);
      expect((await send(path)).status).toBe(200);
    }
    const bare = await send("/console?x=1");
    expect([bare.status, bare.headers.get("location")]).toEqual([308, "/console/?x=1"]);
    expect((await send("/console/")).headers.get("content-type")).toBe("text/html; charset=utf-8");
  });

  it("[P-04] where a bundler has left out the files of the pages, the page says so, and the API works", async () => {
    const { amends } = await openShop(database);
    const { ask: send } = visit(amends, { assets: mkdtempSync(join(tmpdir(), "amends-assets-")) });
    const page = await send("/");
    expect([page.status, await page.text()]).toEqual([
      404,
      expect.stringMatching(
        /dist\/console-assets.*file tracing.*`assets`.*docs\/guides\/console\.md, Next\.js/,
      ),
    ]);
    expect((await send("/api/health")).status).toBe(200);
  });

  it("[X-01] pages are served with their types; hashed files for ever, the page itself never from a cache", async () => {
    const { amends } = await openShop(database);
    const { ask: send } = visit(amends, { assets: assets() });
    const page = await send("/");
    expect([page.headers.get("content-type"), page.headers.get("cache-control")]).toEqual([
      "text/html; charset=utf-8",
      "no-store",
    ]);
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    const script = await send("/assets/index-Ab12Cd34.js");
    expect([script.headers.get("content-type"), script.headers.get("cache-control")]).toEqual([
      "text/javascript; charset=utf-8",
      "public, max-age=31536000, immutable",
    ]);
    for (const path of [
      "/secret.key",
      "/assets",
      "/assets/",
      "/%2e%2e/package.json",
      "/assets/..%2f..%2fx",
    ]) {
      expect([path, (await send(path)).status]).toEqual([path, 404]);
    }
  });
});
