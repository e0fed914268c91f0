/** Writes that expect everything to hold, what refuses them, and what happens then. */
import { expect, it } from "vitest";
import {
  checkedWrite,
  isRefusal,
  writeOnce,
  type CheckedWrite,
  type UniqueKey,
} from "../../src/storage/write/checked-write.ts";
import type { Database, Row } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { ALL_EXPECTED, refuse, statementsOf, type Stage } from "../../src/storage/write/stages.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";
import { faulty, withCode } from "./support/faults.ts";

const KEY: UniqueKey = { table: "things", constraint: "things_pkey", columns: ["n"] };
const LABEL: UniqueKey = { table: "things", constraint: "things_label", columns: ["label"] };

/** Things with two keys, and a diary of ours with a key of its own. */
async function makeThings(db: Database): Promise<void> {
  const { dialect } = db;
  const [table, diary] = [dialect.table("things").text, dialect.table("diary").text];
  const index = dialect.pick({ postgres: "things_label", sqlite: dialect.table("things_label").text });
  await db.query(raw(`create table ${table} (n integer primary key, label text)`));
  await db.query(raw(`create unique index ${index} on ${table} (label)`));
  await db.query(raw(`create table ${diary} (n integer primary key)`));
}

function insertThing(db: Database, n: number): Promise<readonly Row[]> {
  return db.query(sql`insert into ${db.dialect.table("things")} (n) values (${n})`);
}

async function things(db: Database): Promise<readonly unknown[]> {
  return (await db.query(sql`select n from ${db.dialect.table("things")} order by n`)).map((row) => row["n"]);
}

async function thrownBy(work: () => Promise<unknown>): Promise<unknown> {
  return work().then(
    () => expect.fail("nothing was thrown"),
    (error: unknown) => error,
  );
}

/** Inserts numbers: all or none, or each that is not there yet. */
function writing(db: Database, items: readonly number[]): CheckedWrite<number, string> {
  const table = db.dialect.table("things");
  return {
    items,
    keys: [KEY],
    optimistic: async () => {
      await db.batch(items.map((n) => sql`insert into ${table} (n) values (${n})`));
      return items.map(() => "optimistic");
    },
    checked: async () => {
      const rows = await db.batch(
        items.map((n) => sql`insert into ${table} (n) values (${n}) on conflict (n) do nothing returning n`),
      );
      return rows.map(([row]) => row && "checked");
    },
    findWritten: async (missing) => missing.map((n) => (n > 100 ? "before" : undefined)),
    lost: "lost",
  };
}

onEachDatabase((database) => {
  it("[K-06] a write that finds everything as expected asks nothing; one that does not answers for each item", async () => {
    const db = await database.open();
    await makeThings(db);
    expect(await checkedWrite(db.dialect, writing(db, [1, 2]))).toEqual(["optimistic", "optimistic"]);
    expect(await checkedWrite(db.dialect, writing(db, [2, 3]))).toEqual(["lost", "checked"]);
    expect(await things(db)).toEqual([1, 2, 3]);
  });

  it("[K-12] an item that an earlier, unanswered commit of ours wrote counts as written", async () => {
    const db = await database.open();
    await makeThings(db);
    await insertThing(db, 101);
    await insertThing(db, 5);
    expect(await checkedWrite(db.dialect, writing(db, [5, 101, 6]))).toEqual(["lost", "before", "checked"]);
    const { optimistic: _, ...checked } = writing(db, [101, 7]);
    expect(await checkedWrite(db.dialect, checked)).toEqual(["before", "checked"]);
  });

  it("[K-06] a duplicate of a key that the write does not name is an error, and nothing is written or tried again", async () => {
    const db = await database.open();
    await makeThings(db);
    const { dialect } = db;
    await db.query(sql`insert into ${dialect.table("diary")} values (1)`);
    await db.query(sql`insert into ${dialect.table("things")} values (1, 'taken')`);
    let isChecked = false;
    const other = async (statement: ReturnType<typeof sql>): Promise<unknown> =>
      checkedWrite(dialect, {
        ...writing(db, [2]),
        optimistic: async () => {
          await db.batch([sql`insert into ${dialect.table("things")} values (2, 'new')`, statement]);
          return ["optimistic"];
        },
        checked: async () => {
          isChecked = true;
          return [];
        },
      });
    // Of another table of ours, and of another key of the same table.
    const errors = [
      await thrownBy(() => other(sql`insert into ${dialect.table("diary")} values (1)`)),
      await thrownBy(() => other(sql`insert into ${dialect.table("things")} values (3, 'taken')`)),
    ];
    for (const error of errors) expect(dialect.violation(error)).toMatchObject({ kind: "unique" });
    expect(isRefusal(dialect, errors[1], [LABEL])).toBe(true);
    expect(isRefusal(dialect, errors[1], [KEY])).toBe(false);
    expect(isChecked).toBe(false);
    expect(await things(db)).toEqual([1]);
  });

  it("[K-06] a table of the user's with the same name and the same key refuses nothing of ours", async () => {
    const db = await database.open();
    await db.query(raw("create table things (n integer primary key)"));
    await db.query(raw("insert into things values (1)"));
    const error = await thrownBy(() => db.query(raw("insert into things values (1)")));
    expect(db.dialect.violation(error)).toMatchObject({ kind: "unique" });
    expect(isRefusal(db.dialect, error, [KEY])).toBe(false);
  });

  it("[K-12] a transaction whose commit went unanswered takes effect once", async () => {
    const real = await database.open();
    await makeThings(real);
    const faults = faulty(real);
    const table = real.dialect.table("things");
    const written: string[] = [];
    const once = (n: number): Promise<string> =>
      writeOnce(faults.db, {
        write: async (session) => {
          written.push(`write ${n}`);
          await session.query(sql`insert into ${table} (n) values (${n})`);
          return "written";
        },
        findWritten: async (session) =>
          (await session.query(sql`select n from ${table} where n = ${n}`)).length > 0 ? "found" : undefined,
      });
    const code = database.name === "postgres" ? "57P01" : "SQLITE_BUSY";
    expect(await once(1)).toBe("written");
    faults.plan(1, 1, "after", withCode(code));
    expect(await once(2)).toBe("found");
    faults.plan(1, 1, "before", withCode(code));
    expect(await once(3)).toBe("written");
    expect(written).toEqual(["write 1", "write 2", "write 3"]);
    expect(await things(real)).toEqual([1, 2, 3]);
  });
});

onDatabase("postgres", (database) => {
  const stages = (db: Database, rows: readonly number[], expectRows: number): readonly Stage[] => {
    const table = db.dialect.table("things");
    return [
      {
        name: "added",
        statement: sql`insert into ${table} (n) select v from unnest(${[...rows]}::int[]) as v where v < 10 returning n`,
        expectRows,
        otherwise: "refuse",
      },
      {
        name: "large",
        statement: sql`select 'large' as stage, n from added`,
        expectRows: 2,
        counted: raw("n > 5"),
      },
    ];
  };
  const run = async (db: Database, some: readonly Stage[]): Promise<readonly Row[]> =>
    (await db.batch(statementsOf(db.dialect, some, ["stage", "n"]))).flat();

  it("[K-06] a statement of stages answers once where all is as expected, and row by row where it is not", async () => {
    const db = await database.open();
    await makeThings(db);
    expect(await run(db, stages(db, [1, 6, 7], 3))).toEqual([{ stage: ALL_EXPECTED, n: null }]);
    expect(await run(db, stages(db, [2, 8], 2))).toEqual([{ stage: "large", n: 8 }]);
  });

  it("[K-06] a stage without its expected rows refuses the whole statement, with an error of our own", async () => {
    const db = await database.open();
    await makeThings(db);
    const error = await thrownBy(() => run(db, stages(db, [1, 2, 12], 3)));
    expect(error).toMatchObject({ code: "AMEND" });
    expect(db.dialect.violation(error)).toEqual({ kind: "refused" });
    expect(isRefusal(db.dialect, error)).toBe(true);
    expect(await things(db)).toEqual([]);
  });

  it("[K-06] a division by zero is an error like any other, not a refusal", async () => {
    const db = await database.open();
    const error = await thrownBy(() => db.query(raw("select 1 / (select 0)")));
    expect(isRefusal(db.dialect, error)).toBe(false);
    expect(isRefusal(db.dialect, await thrownBy(() => db.query(sql`select ${refuse(db.dialect)}`)))).toBe(
      true,
    );
  });
});
