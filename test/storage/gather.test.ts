import { expect, it } from "vitest";
import { gather } from "../../src/storage/gather.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";

onEachDatabase((database) => {
  it("[K-11] what several parts ask for at once is one transaction, in the order in which they asked", async () => {
    const db = await database.open();
    await db.query(raw("create table notes (n integer primary key)"));
    const part = async (session: Parameters<Parameters<typeof gather>[1]>[0], n: number): Promise<number> =>
      (await session.query(sql`insert into notes (n) values (${n}) returning n`)).length;
    const counts = await gather(db, (session) => Promise.all([part(session, 1), part(session, 2)]));
    expect(counts).toEqual([1, 1]);
    await expect(gather(db, (session) => Promise.all([part(session, 3), part(session, 1)]))).rejects.toThrow(
      /unique/i,
    );
    expect(await db.query(raw("select n from notes order by n"))).toEqual([{ n: 1 }, { n: 2 }]);
  });

  it("[K-11] whoever asks after the batch was sent is refused, and nothing is lost silently", async () => {
    const db = await database.open();
    const late = gather(db, async (session) => {
      await session.query(raw("select 1 as one"));
      await session.query(raw("select 2 as two"));
    });
    await expect(late).rejects.toThrow("came after its batch");
    expect(await gather(db, async () => "nothing")).toBe("nothing");
  });
});
