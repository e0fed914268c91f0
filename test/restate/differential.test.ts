/** The same sagas on SQLite and on Restate: what they come to, what they do, and the lines of their logs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBoth, type Both } from "./support/both.ts";
import { dyingStories } from "./support/dying.ts";
import type { Ledger } from "./support/ledger.ts";
import { inAnyOrder, play, type Played } from "./support/play.ts";
import { storiesOn, type Stories, type Story } from "./support/stories.ts";

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
        const story = (ledger: Ledger): Story => make(ledger)[name] as Story;
        const expected = await play(both.sqlite, story(both.sqlite.ledger), `${name}-1`);
        const found = await play(both.restate, story(both.restate.ledger), `${name}-1`);
        const form = isOrdered(story(both.sqlite.ledger)) ? (one: Played): Played => one : inAnyOrder;
        expect(form(found)).toEqual(form(expected));
        expect(expected.lines.length).toBeGreaterThan(0);
      });
    }
  });
}

function isOrdered({ saga }: Story): boolean {
  return !saga.plan.some(({ group, each }) => group ?? each);
}
