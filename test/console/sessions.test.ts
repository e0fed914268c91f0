import { expect, it } from "vitest";
import type { ConsoleToken } from "amends/console";
import type { ActionLine, Page, Session } from "../../src/console/contract.ts";
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
      parts: ["sagas", "schedules", "outbox", "erasures", "flows", "webhooks"],
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
      `${cookie}.more`,
      `${name}=`,
      `other=${value}`,
    ]) {
      expect([wrong, await status(wrong)]).toEqual([wrong, 401]);
    }
    await clock.advance(3_600_001);
    expect(await status(cookie)).toBe(401);
  });

  it("[X-01] signing out ends a kept cookie too, in every process with the same secret and after a restart, on record", async () => {
    const { amends } = await openShop(database);
    const secret = "s".repeat(32);
    const [here, there] = [visit(amends, { secret }), visit(amends, { secret })];
    const cookie = cookieOf(await signIn(here.ask, TOKENS.reader.token));
    const other = cookieOf(await signIn(here.ask, TOKENS.reader.token));
    const status = async ({ ask }: Visit, sent = cookie): Promise<number> =>
      (await ask("/api/session", { headers: { cookie: sent } })).status;
    expect([await status(here), await status(there)]).toEqual([200, 200]);
    const out = (): Promise<Response> =>
      here.ask("/api/session", { method: "DELETE", headers: { ...PAGE, cookie } });
    expect((await out()).headers.get("set-cookie")).toMatch(/^amends_7077=; .*Max-Age=0$/);
    const restarted = visit(amends, { secret });
    expect([await status(here), await status(there), await status(restarted)]).toEqual([401, 401, 401]);
    // Open routes answer; what only operators see is not in them.
    expect(await (await there.ask("/api/ready", { headers: { cookie } })).json()).toEqual({ status: "ok" });
    // The other session of the same token goes on.
    expect(await status(restarted, other)).toBe(200);
    await out();
    const { items } = await here.get<Page<ActionLine>>("reader", "/api/audit?action=sign-out");
    expect(items).toMatchObject([{ by: "Rea", target: { kind: "session" }, outcome: "done" }]);
  });

  it("[X-01] a sign-out that cannot be recorded clears the cookie, and says that a copy of it still works", async () => {
    const { amends } = await openShop(database);
    const { ask } = visit(amends);
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    await amends.close();
    const out = await ask("/api/session", { method: "DELETE", headers: { ...PAGE, cookie } });
    expect([out.status, out.headers.get("set-cookie")]).toEqual([
      503,
      expect.stringMatching(/^amends_7077=; .*Max-Age=0$/),
    ]);
    expect(await out.json()).toMatchObject({ code: "SIGN_OUT_NOT_RECORDED" });
    expect((await ask("/api/health", { headers: { cookie } })).status).toBe(200);
  });

  it("[X-01] live updates end with the session of the browser that gets them", async () => {
    const clock = virtualClock();
    const { amends } = await openShop(database, { clock });
    const { ask } = visit(amends);
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    const live = await ask("/api/live", { headers: { cookie } });
    await ask("/api/session", { method: "DELETE", headers: { ...PAGE, cookie } });
    let over = false;
    const whole = live.text().finally(() => {
      over = true;
    });
    while (!over) await clock.advance(15_000);
    expect(await whole).toContain(": still here");
  });

  it("[X-01] a session has the roles that its token has now, and ends when its token is removed", async () => {
    const { amends } = await openShop(database);
    const secret = "s".repeat(32);
    const cookie = cookieOf(await signIn(visit(amends, { secret }).ask, TOKENS.operator.token));
    const session = async (tokens: readonly ConsoleToken[]): Promise<unknown> => {
      const response = await visit(amends, { secret, tokens }).ask("/api/session", { headers: { cookie } });
      return response.status === 200 ? ((await response.json()) as Session).roles : response.status;
    };
    expect(await session([TOKENS.reader, TOKENS.operator])).toEqual(["read", "operate"]);
    expect(await session([{ ...TOKENS.operator, roles: ["read"] }])).toEqual(["read"]);
    expect(await session([TOKENS.reader])).toBe(401);
    expect(await session([{ ...TOKENS.operator, token: "another-token-of-the-same-operator" }])).toBe(401);
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

  it("[X-01] after ten wrong tokens further ones get 429 for a minute, and valid tokens and sessions still work", async () => {
    const clock = virtualClock();
    const { amends } = await openShop(database, { clock });
    const { ask } = visit(amends);
    const cookie = cookieOf(await signIn(ask, TOKENS.reader.token));
    for (let n = 0; n < 10; n++) expect((await signIn(ask, `wrong-${n}`)).status).toBe(401);
    const refused = await signIn(ask, "wrong-again");
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "60"]);
    expect((await signIn(ask, TOKENS.reader.token)).status).toBe(200);
    expect((await ask("/api/session", { headers: program("reader") })).status).toBe(200);
    expect((await ask("/api/session", { headers: { cookie } })).status).toBe(200);
    await clock.advance(60_000);
    expect((await signIn(ask, "wrong-again")).status).toBe(401);
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

  it("[X-01] tokens of a function are read at the first request; weak ones are logged, sign in nobody, and are read again", async () => {
    const reasons: unknown[] = [];
    const warn = (fields: object): void => void reasons.push((fields as { reason?: unknown }).reason);
    const { amends } = await openShop(database, { logger: { info: warn, warn, error: warn } });
    let token = "short";
    const { ask } = visit(amends, { tokens: () => [{ name: "ann", roles: ["read"], token }] });
    const ann = (): Promise<Response> =>
      ask("/api/session", { headers: { authorization: `Bearer ${token}` } });
    const refused = await ann();
    expect([refused.status, await refused.text()]).toEqual([
      503,
      expect.not.stringContaining("24 characters") as string,
    ]);
    expect(reasons).toEqual([expect.stringContaining("tokens[0]: a token has at least 24 characters")]);
    token = "x".repeat(32);
    expect(await (await ann()).json()).toMatchObject({ name: "ann" });
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
