/** The routes that the console's guide names are there, and need what it says. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { createConsole } from "amends/console";
import { expect, it } from "vitest";
import { root } from "../../tools/project.mjs";
import { onEachDatabase } from "../support/databases.ts";

const guide = readFileSync(path.join(root, "docs/guides/console.md"), "utf8");

onEachDatabase((database) => {
  it("[P-04] every route that the console's guide names exists, and every action is on it", async () => {
    const { routes } = createConsole(await database.amends({}));
    const named = [...guide.matchAll(/`(api\/[\w{}/.-]+)`/g)].map(([, route]) => `/${route as string}`);
    const known = routes.map((route) => route.path);
    expect(named.filter((route) => !known.includes(route))).toEqual([]);
    const actions = routes.filter(
      ({ access, path: at }) => access === "operate" && !/pause|\/subscriptions\/\{id\}\/resend/.test(at),
    );
    expect(actions.map((route) => route.path).filter((route) => !named.includes(route))).toEqual([]);
  });
});
