/** The one case of sagas on Restate that `npm test` runs; `npm run restate` runs all of them. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { playOnBoth, openBoth, type Both } from "./support/both.ts";
import { storiesOn } from "./support/stories.ts";

let both: Both;
beforeAll(async () => {
  both = await openBoth(storiesOn, false);
});
afterAll(() => both?.close());

it("[R-04] a saga of five steps is undone on Restate as on SQLite, line for line", async () => {
  const { onRestate, onSqlite } = await playOnBoth(both, storiesOn, "is-refused-and-undone");
  expect(onRestate).toEqual(onSqlite);
  expect(onSqlite.lines.length).toBeGreaterThan(0);
});
