/** The same sagas on SQLite and on Restate: what they come to, what they do, and the lines of their logs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { playOnBoth, openBoth, type Both } from "../support/both.ts";
import { dyingStories } from "../support/dying.ts";
import type { Ledger } from "../support/ledger.ts";
import { storiesOn, type Stories } from "../support/stories.ts";

const SETS: Readonly<Record<string, (ledger: Ledger) => Stories>> = {
  "the same saga on SQLite and on Restate": storiesOn,
  "a saga whose process is killed": dyingStories,
};

for (const [title, make] of Object.entries(SETS)) {
  // A process that is killed takes other sagas with it.
  const isDeadly = make === dyingStories;
  describe(title, { concurrent: !isDeadly }, () => {
    let both: Both;
    beforeAll(async () => {
      both = await openBoth(make, isDeadly);
    });
    afterAll(() => both?.close());

    // Only their names are of interest here: each engine has its own.
    const names = Object.keys(make(undefined as never));
    for (const name of names) {
      it(`[R-07] comes to the same where it ${name.replaceAll("-", " ")}`, async () => {
        const { onRestate, onSqlite } = await playOnBoth(both, make, name);
        expect(onRestate).toEqual(onSqlite);
        expect(onSqlite.lines.length).toBeGreaterThan(0);
      });
    }
  });
}
