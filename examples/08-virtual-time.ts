/** Testing with time that is moved by hand: a saga that waits for hours is tested in milliseconds. */
import assert from "node:assert/strict";
import { Amends, saga } from "amends";
import { sqlite } from "amends/sqlite";
import { virtualClock } from "amends/testing";
import { z } from "zod";

const HOUR_MS = 3_600_000;
const POLL_MS = 360_000; // five minutes, which workers spread by a fifth

const report = saga("report", z.object({}), { retry: { attempts: 4, base: "1h", cap: "1d" } }).step("send", {
  act: ({ attempt }) => {
    if (attempt < 3) throw new Error("the partner sleeps");
    return `sent at attempt ${attempt}`;
  },
});

const clock = virtualClock();
const amends = new Amends({ database: sqlite(":memory:", { clock }), sagas: [report] });
await amends.migrate();
// Every poll on the way is made, so let there be few of them.
await amends.worker({ poll: "5m" }).start();

const run = await amends.start(report, {});
await clock.advance(1); // lets the first try happen
assert.equal(await run.status(), "RUNNING");

await clock.advance(HOUR_MS + POLL_MS); // the second try, after one hour and at most one poll
assert.equal(await run.status(), "RUNNING");

await clock.advance(2 * HOUR_MS + POLL_MS); // the third, after two more
assert.equal(await run.status(), "COMPLETED");

const view = await amends.inspect(run.id);
console.log(view?.status, JSON.stringify(view?.results));
console.log(view?.timeline.filter(({ status }) => status === "FAILED").length, "failed tries");
await amends.close();
