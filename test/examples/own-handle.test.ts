/** A caller's handle beside a worker of the same process. */
import { saga } from "amends";
import { openSqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { onDatabase } from "../support/databases.ts";

const noop = saga("noop", z.object({})).step("one", { act: () => 1 });

onDatabase("sqlite", (database) => {
  it("[K-10] a caller's own writes never find the file locked by a transaction that waits for its next turn", async () => {
    const amends = await database.amends({ sagas: [noop] });
    const handle = openSqlite(await database.place());
    handle.exec("create table notes (id integer primary key)");
    const insert = handle.prepare("insert into notes default values");
    for (let round = 0; round < 10; round++) {
      await amends.start(noop, {});
      const worker = amends.worker();
      await worker.start();
      // The worker claims in this very turn of the event loop, and so does this loop write.
      for (let write = 0; write < 20; write++) {
        insert.run();
        await Promise.resolve();
      }
      await worker.stop();
    }
    const [row] = handle.prepare("select count(*) as n from notes").all() as { n: number }[];
    handle.close();
    expect(row?.n).toBe(200);
  });
});
