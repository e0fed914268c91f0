/** The same commands through a console that runs elsewhere, and what changes as it changes. */
import type { Amends } from "amends";
import { createConsole, type ConsoleServer } from "amends/console";
import { afterEach, expect, it } from "vitest";
import { orders } from "../console/support/shop.ts";
import { TOKENS } from "../console/support/visit.ts";
import { gate } from "../sagas/support/gate.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { saga } from "amends";
import { z } from "zod";
import { cli, type Ran } from "./support/cli.ts";
import { brokenSystem } from "./support/scene.ts";

let server: ConsoleServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function consoleOf(amends: Amends): Promise<string> {
  server = await createConsole(amends, { tokens: Object.values(TOKENS) }).listen({ port: 0 });
  return server.url;
}

onEachDatabase((database) => {
  it("[P-03][X-01] commands work on a running console, and may do what their token may", async () => {
    const { amends, dead } = await brokenSystem(database);
    const url = await consoleOf(amends);
    const as = (person: keyof typeof TOKENS, ...argv: string[]): Promise<Ran> =>
      cli(argv, { env: { AMENDS_CONSOLE: url, AMENDS_TOKEN: TOKENS[person].token } });
    expect((await as("reader", "status")).code).toBe(3);
    expect((await as("reader", "list", "--status", "stalled")).out).toContain("o-stalled");
    expect((await as("reader", "show", dead)).out).toContain("http_503");
    const refused = await as("reader", "retry", "o-stalled", "--reason", "r");
    expect([refused.code, refused.err]).toEqual([
      1,
      "error: This needs the role operate.\n       Ask for a token with this role.\n",
    ]);
    const named = await as("operator", "retry", "o-stalled", "--reason", "r", "--by", "somebody else");
    expect([named.code, named.err.includes("the token says who you are")]).toEqual([2, true]);
    expect((await as("operator", "retry", "o-stalled", "--reason", "the bank is back")).code).toBe(0);
    expect((await amends.inspect("o-stalled"))?.timeline.at(-1)).toMatchObject({ name: "retry", by: "Otto" });
    // The address as it is printed has the token in it.
    const whole = await cli(["list", "--console", `${url}#token=${TOKENS.reader.token}`]);
    expect(whole.code).toBe(0);
    const invited = await cli(["list", "--console", server?.signInUrl ?? ""]);
    expect([invited.code, invited.err]).toEqual([
      1,
      expect.stringMatching(
        /is an invitation for a browser: programs need one of the console's `tokens`\.\n$/,
      ),
    ]);
    const doctor = await cli(["doctor", "--console", url, "--token", TOKENS.reader.token]);
    expect(doctor.out).toMatch(/✓ console +http:\/\/127\.0\.0\.1:\d+ answers, version .*, to Rea \(read\)/);
  });

  it("[P-03] one saga is streamed from its beginning to its end, whose kind is the exit code", async () => {
    const order = orders();
    const held = gate<string>();
    const slow = saga("slow", z.object({})).step("wait", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order, slow] });
    await database.worker(amends);
    const at = ["--database", await database.place()];
    await amends.start(slow, {}, { id: "s-1" });
    await held.reached;
    const following = cli(["stream", "s-1", ...at], {
      onOut: (out) => {
        if (out.includes("wait began")) held.open("done");
      },
    });
    const { code, out } = await following;
    expect([code, out]).toEqual([0, expect.stringMatching(/ {2}wait began\n.* {2}wait done\nCOMPLETED\n$/)]);
    await (await amends.start(order, { orderId: "f", end: "FAILED" }, { id: "f-1" })).result();
    const failed = await cli(["stream", "f-1", "--json", ...at]);
    const lines = failed.out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as { type: string; status: string });
    expect([failed.code, lines.at(-1)]).toEqual([
      1,
      { type: "end", id: "f-1", status: "FAILED", stalled: null },
    ]);
    expect(lines.filter(({ type }) => type === "line").length).toBeGreaterThan(5);
    await (await amends.start(order, { orderId: "t", end: "STALLED" }, { id: "t-1" })).result();
    expect((await cli(["stream", "t-1", ...at])).code).toBe(3);
    expect((await cli(["stream", "nobody", ...at])).code).toBe(1);
  });

  it("[P-03] a saga that ended long ago is streamed, too, although nothing changes any more", async () => {
    const order = orders();
    const amends = await database.amends({ sagas: [order], clock: virtualClock(Date.now() - 3_600_000) });
    await amends.start(order, { orderId: "x", end: "COMPLETED" }, { id: "x-1" });
    await amends.worker().runOnce();
    const { code, out } = await cli(["stream", "x-1", "--database", await database.place()]);
    expect([code, out]).toEqual([0, expect.stringMatching(/COMPLETED\n$/)]);
  });

  it("[P-03] everything that changes is streamed until somebody has seen enough", async () => {
    const order = orders();
    const amends = await database.amends({ sagas: [order] });
    await database.worker(amends);
    const enough = new AbortController();
    let count = 0;
    const another = setInterval(
      () =>
        void amends
          .start(order, { orderId: "x", end: "STALLED" }, { id: `x-${(count += 1)}` })
          .catch(() => undefined),
      200,
    );
    const { code, out } = await cli(["stream", "--json", "--database", await database.place()], {
      stop: enough.signal,
      onOut: (text) => {
        if (text.includes('"type":"saga"') && text.includes('"type":"attention"')) enough.abort();
      },
    });
    clearInterval(another);
    const types = out
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect([code, types.includes("saga"), types.includes("attention")]).toEqual([0, true, true]);
  });
});
