import { expect, it } from "vitest";
import type { Session } from "../../src/console/contract.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { openShop } from "./support/shop.ts";
import { PAGE, program, TOKENS, visit, type Visit } from "./support/visit.ts";

async function signIn(ask: Visit["ask"], token: string, headers = PAGE): Promise<Response> {
  return ask("/api/session", { method: "POST", body: { token }, headers });
}

function cookieOf(response: Response): string {
  return (response.headers.get("set-cookie") ?? "").split(";")[0] as string;
}

onEachDatabase((database) => {
  it("[X-01] an invitation works once, and becomes a cookie that no script and no other site gets", async () => {
    const { amends } = await openShop(database);
    const { ask, console } = visit(amends, { path: "/console" });
    const token = console.invite({ name: "Ida", roles: ["operate"] });
    const response = await signIn(ask, token);
    expect(response.headers.get("set-cookie")).toMatch(
      /^amends_7077=[\w-]+\.[\w-]+; Path=\/console; HttpOnly; SameSite=Strict; Max-Age=43200$/,
    );
    expect(await response.json()).toMatchObject({
      name: "Ida",
      roles: ["read", "operate"],
      parts: ["sagas", "outbox", "erasures", "flows", "webhooks"],
    });
    expect((await signIn(ask, token)).status).toBe(401);
    const cookie = cookieOf(response);
    const session = await ask("/api/session", { headers: { cookie } });
    expect((await session.json()) as Session).toMatchObject({ name: "Ida" });
    // It is a key to sign in with, and nothing else.
    const other = console.invite();
    expect((await ask("/api/session", { headers: { authorization: `Bearer ${other}` } })).status).toBe(401);
  });

  it("[X-01] where people come by https the cookie is bound to exactly this host", async () => {
    const { amends } = await openShop(database);
    const { ask } = visit(amends, { origin: "https://ops.example.com" });
    const headers = { ...PAGE, host: "ops.example.com" };
    const response = await signIn(ask, TOKENS.reader.token, headers);
    expect(response.headers.get("set-cookie")).toMatch(
      /^__Host-amends=[\w.-]+; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=\d+$/,
    );
    const read = await ask("/api/session", {
      headers: { host: "ops.example.com", cookie: cookieOf(response) },
    });
    expect(read.status).toBe(200);
  });

  it("[X-01] a cookie that somebody made or changed, or that is over, opens nothing", async () => {
    const clock = virtualClock();
    const { amends } = await openShop(database, { clock });
    const { ask } = visit(amends, { session: "1h" });
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    const [name = "", value = ""] = cookie.split("=");
    const [content = "", signature = ""] = value.split(".");
    const forged = Buffer.from(JSON.stringify(["Eve", ["read", "operate"], "x", 9e15])).toString("base64url");
    const status = async (sent: string): Promise<number> =>
      (await ask("/api/session", { headers: { cookie: sent } })).status;
    expect(await status(cookie)).toBe(200);
    for (const wrong of [
      `${name}=${forged}.${signature}`,
      `${name}=${content}.${signature.slice(0, -2)}`,
      `${name}=${content}`,
      `${name}=${content}.`,
      `${name}=`,
      `other=${value}`,
    ]) {
      expect([wrong, await status(wrong)]).toEqual([wrong, 401]);
    }
    await clock.advance(3_600_001);
    expect(await status(cookie)).toBe(401);
  });

  it("[X-01] signing out ends the session, also for whoever kept the cookie", async () => {
    const { amends } = await openShop(database);
    const { ask } = visit(amends);
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    const out = await ask("/api/session", { method: "DELETE", headers: { ...PAGE, cookie } });
    expect(out.headers.get("set-cookie")).toMatch(/^amends_7077=; .*Max-Age=0$/);
    expect((await ask("/api/session", { headers: { cookie } })).status).toBe(401);
  });

  it("[X-01] with the same secret another process takes the session, with another it does not", async () => {
    const { amends } = await openShop(database);
    const secret = "s".repeat(32);
    const first = visit(amends, { secret });
    const cookie = cookieOf(await signIn(first.ask, TOKENS.reader.token));
    const status = async (options: Parameters<typeof visit>[1]): Promise<number> =>
      (await visit(amends, options).ask("/api/session", { headers: { cookie } })).status;
    expect([await status({ secret }), await status({ secret: "t".repeat(32) }), await status({})]).toEqual([
      200, 401, 401,
    ]);
  });

  it("[X-01] after too many wrong tokens none is looked at for a minute, and sessions go on", async () => {
    const clock = virtualClock();
    const { amends } = await openShop(database, { clock });
    const { ask } = visit(amends);
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    for (let n = 0; n < 10; n++) expect((await signIn(ask, `wrong-${n}`)).status).toBe(401);
    const refused = await signIn(ask, TOKENS.reader.token);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await ask("/api/session", { headers: program("reader") })).status).toBe(429);
    expect((await ask("/api/session", { headers: { cookie } })).status).toBe(200);
    await clock.advance(60_000);
    expect((await signIn(ask, TOKENS.reader.token)).status).toBe(200);
  });

  it("[X-01] an application's own sign-in says who it is; without anybody nothing opens", async () => {
    const { amends } = await openShop(database);
    const { ask } = visit(amends, {
      tokens: [],
      authorize: (request) =>
        request.headers.get("cookie") === "app=ada" ? { name: "Ada", roles: ["operate"] } : undefined,
    });
    expect((await ask("/api/session")).status).toBe(401);
    expect(await (await ask("/api/session", { headers: { cookie: "app=ada" } })).json()).toMatchObject({
      name: "Ada",
      roles: ["read", "operate"],
      expiresAt: null,
    });
    // The browser sends that cookie by itself: changes must come from the console's own page.
    const headers = { cookie: "app=ada", "x-amends-console": "1", "content-type": "application/json" };
    const write = await ask("/api/sagas/x/cancel", { method: "POST", body: { reason: "r" }, headers });
    expect(write.status).toBe(403);
  });

  it("[X-01] weak settings are refused when the console is made", async () => {
    const { amends } = await openShop(database);
    for (const options of [
      { tokens: [{ name: "a", roles: ["read"] as const, token: "short" }] },
      { tokens: [{ name: "", roles: ["read"] as const, token: "x".repeat(32) }] },
      { tokens: [{ name: "a", roles: [] as const, token: "x".repeat(32) }] },
      { tokens: [{ name: "a", roles: ["root" as "read"], token: "x".repeat(32) }] },
      { secret: "short" },
      { path: "/api" },
      { path: "no-slash" },
      { origin: "ops.example.com" },
      { nonsense: 1 } as object,
    ]) {
      expect(() => visit(amends, options)).toThrow(expect.objectContaining({ code: "BAD_OPTION" }));
    }
  });
});
