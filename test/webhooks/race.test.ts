/** Several orchestrators on one database, as several processes have them. */
import { expect, it } from "vitest";
import { onDatabase } from "../support/databases.ts";
import { checkInvariantsAfterEach } from "./support/check-invariants.ts";
import { parts } from "./support/parts.ts";
import { onEachForm, stage } from "./support/stage.ts";

const OK = { ok: true, code: "http_200" };
const BAD = { ok: false, code: "http_500" };

onDatabase("postgres", (database) => {
  checkInvariantsAfterEach(database);

  it("[W-05][W-06] orchestrators that race create one job for each delivery, and never more than a lane has places", async () => {
    const { db, publish, subscribe, rows, clock } = await stage(database);
    for (let n = 0; n < 3; n++) await subscribe(`s${n}`, { concurrency: 2 });
    const racers = await Promise.all(
      [1, 2, 3, 4].map(async (n) => parts(await database.open({ clock }), { owner: `racer ${n}` })),
    );
    const first = racers[0] as (typeof racers)[0];
    const seen = new Set<string>();
    for (let round = 0; round < 60; round++) {
      await publish();
      const taken = (await Promise.all(racers.map(({ take }) => take(2)))).flat();
      const active = (await rows("webhook_jobs")).filter((row) => row["finished_at"] === null);
      for (const lane of ["1", "2", "3"])
        expect(active.filter((row) => String(row["subscription_id"]) === lane).length).toBeLessThanOrEqual(2);
      for (const { id, token } of taken) {
        expect(seen.has(`${id} ${token}`)).toBe(false);
        seen.add(`${id} ${token}`);
      }
      await Promise.all(
        taken.map((task, index) => (racers[index % 4] ?? first).tell(task, round % 7 === 0 ? BAD : OK)),
      );
      clock.jump(10_000);
    }
    expect(db.dialect.name).toBe("postgres");
    expect(seen.size).toBeGreaterThan(100);
  }, 60_000);

  it("[W-07] results that race for one job count once", async () => {
    const { publish, subscribe, clock, states } = await stage(database, {});
    await subscribe("a", { concurrency: 50 });
    const racers = await Promise.all([1, 2, 3].map(async () => parts(await database.open({ clock }))));
    for (let n = 0; n < 30; n++) await publish();
    const taken = (await racers[0]?.take(100)) ?? [];
    const verdicts = await Promise.all(
      taken.map((task) => Promise.all(racers.map(({ tell }, index) => tell(task, index === 0 ? OK : BAD)))),
    );
    for (const of of verdicts) expect(of.toSorted()).toEqual(["accepted", "repeated", "repeated"]);
    expect(await states()).toHaveLength(30);
  });
});

onEachForm((database) => {
  checkInvariantsAfterEach(database);

  it("[W-15][K-09] with several workers at once everything arrives, and nothing twice", async () => {
    const stages = [await stage(database), await stage(database), await stage(database)];
    const [first] = stages as [(typeof stages)[0]];
    for (let n = 0; n < 5; n++) await first.subscribe(`s${n}`);
    for (let n = 0; n < 20; n++) await first.publish("order.placed", { id: `e-${n}` });
    await Promise.all(stages.map(({ work }) => work()));
    while ((await first.work()) > 0);
    const sent = stages.flatMap(({ world }) => world.sent.map(({ url, id }) => `${url} ${id}`));
    expect(sent).toHaveLength(100);
    expect(new Set(sent).size).toBe(100);
    expect(new Set(await first.states())).toEqual(new Set(["Completed 1"]));
  });
});
