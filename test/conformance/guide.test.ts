/** The guide shows the very files that run here. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it, vi } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const guide = readFileSync(`${root}/docs/guides/own-storage.md`, "utf8");

const collected = vi.hoisted(() => [] as { name: string; run: () => Promise<void> }[]);
vi.mock("node:test", () => ({
  test: (name: string, run: () => Promise<void>) => collected.push({ name, run }),
}));

it("[S-02] the guide's code is that of the example, line by line", () => {
  const blocks = [...guide.matchAll(/^```ts file=(\S+)\n([\s\S]*?)^```$/gm)];
  expect(blocks.map(([, file]) => file)).toHaveLength(3);
  for (const [, file = "", code] of blocks) expect(code).toBe(readFileSync(`${root}/${file}`, "utf8"));
});

it("[S-02] the guide's saga runs on the guide's storage", async () => {
  const log = vi.spyOn(console, "log").mockReturnValue(undefined);
  await import("../../examples/own-storage/orders.ts");
  const reservation = "tea for order-1:reserve:act";
  const results = { reserve: { reservation }, ship: `shipped ${reservation}` };
  expect(log.mock.calls).toEqual([[{ status: "COMPLETED", id: "order-1", results }]]);
  log.mockRestore();
});

it("[T-03] the guide's storage passes the suite as the guide runs it", async () => {
  await import("../../examples/own-storage/conformance.ts");
  expect(collected.length).toBeGreaterThan(30);
  for (const { run } of collected) await expect(run()).resolves.toBeUndefined();
});
