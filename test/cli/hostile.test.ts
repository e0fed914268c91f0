/** Whatever is stored is shown, and none of it is obeyed: by the terminal, the shell, the database or the address. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { fit, visible, visibleJson, widthOf } from "../../src/cli/terminal/visible.ts";
import { onEachDatabase } from "../support/databases.ts";
import { cli, json } from "./support/cli.ts";

const ESC = "\u001b";
/** Clears the screen, sets the title, moves up, turns the text around, begins another line, quotes, injects. */
const HOSTILE: readonly string[] = [
  `${ESC}[2J${ESC}[H`,
  `${ESC}]0;owned\u0007`,
  "\u009b31mred\u009c",
  "a\nb\rc\td",
  "\u202egnp.exe\u2066x",
  "\u200b\u200e\ufeff\u2028\u2029",
  `'; drop table saga_executions; --`,
  `"$(rm -rf /)"`,
  "../../api/session",
  "%2e%2e%2fx?y#z",
  "<script>alert(1)</script>",
  "日本語の注文 🫖",
];

/** What a terminal might take for an order. */
const ORDERS = /(?!\n)[\p{Cc}\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/u;

it("[P-03] what does not print as itself is written out, and the rest stays", () => {
  expect(visible(`${ESC}[31m\u009b\u202e\n\t`)).toBe("\\x1b[31m\\x9b\\u202e\\n\\t");
  expect(visible("tea 🫖 日本 é")).toBe("tea 🫖 日本 é");
  for (const text of HOSTILE) {
    expect(visible(text)).not.toMatch(ORDERS);
    expect(visibleJson({ [text]: text })).not.toMatch(ORDERS);
    expect(JSON.parse(visibleJson({ [text]: text }))).toEqual({ [text]: text });
  }
  expect([widthOf("日本"), widthOf("e\u0301"), fit("place-order", 5), fit("日本語", 4)]).toEqual([
    4,
    1,
    "plac…",
    "日…",
  ]);
});

onEachDatabase((database) => {
  it("[P-03][X-02] hostile ids, names and reasons are found, shown and steered as what they are", async () => {
    const order = saga("order", z.object({ note: z.string() }), { compensateRetry: { attempts: 1 } }).step(
      "wait",
      { act: () => "x" },
    );
    const amends = await database.amends({ sagas: [order] });
    const at = ["--database", await database.place()];
    for (const id of HOSTILE) await amends.start(order, { note: id }, { id });
    for (const terminal of [undefined, { columns: 60, colours: false }]) {
      const { out, code } = await cli(["list", "--limit", "50", ...at], terminal ? { terminal } : {});
      expect([code, out.trimEnd().split("\n").length]).toEqual([0, HOSTILE.length + 1]);
      expect(out).not.toMatch(ORDERS);
    }
    const listed = await json<{ items: readonly { id: string }[] }>(["list", "--limit", "50", ...at]);
    expect(listed.items.map(({ id }) => id).toSorted()).toEqual(HOSTILE.toSorted());
    for (const id of HOSTILE) {
      const shown = await cli(["show", ...at, "--", id]);
      expect([id, shown.code]).toEqual([id, 0]);
      expect(shown.out).not.toMatch(ORDERS);
      expect(shown.out).toContain(visible(id));
    }
    const [worst = ""] = HOSTILE;
    const cancelled = await cli(["cancel", ...at, `--reason=${worst}`, "--", worst]);
    expect([cancelled.code, ORDERS.test(cancelled.out)]).toEqual([0, false]);
    expect((await cli(["show", ...at, "--", worst])).out).not.toMatch(ORDERS);
    expect((await cli(["diagram", ...at, "--", worst])).out).not.toMatch(ORDERS);
    for (const id of HOSTILE.map((one) => `${one}!`)) {
      const missing = await cli(["show", ...at, "--", id]);
      expect([id, missing.code]).toEqual([id, 1]);
      expect(missing.err).not.toMatch(ORDERS);
    }
  });

  it("[P-03] ids that can be none are refused before anybody is asked", async () => {
    await database.open();
    const at = ["--database", await database.place()];
    for (const id of ["", "\0", "x".repeat(181), "\ud800"]) {
      const { code, err } = await cli(["show", ...at, "--", id]);
      expect([id.length, code, err.startsWith("usage:")]).toEqual([id.length, 2, true]);
    }
  });
});
