import { expect, it } from "vitest";
import {
  bigint,
  flag,
  float,
  id,
  instant,
  int,
  json,
  optional,
  text,
  uuid,
} from "../../src/storage/column.ts";
import type { Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { projection, table, UnreadableRow, type RowOf } from "../../src/storage/table.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { onEachDatabase } from "../support/databases.ts";

const THING = table("things", {
  thingId: uuid("thing_id"),
  serial: id("serial"),
  status: text<"new" | "old">("status"),
  count: int("how_many"),
  token: bigint("token"),
  madeAt: instant("made_at"),
  isOpen: flag("is_open"),
  details: optional(json<{ readonly a: number }>("details")),
  note: optional(text("note")),
});

async function makeThings(db: Database): Promise<void> {
  const type = db.dialect.pick({
    postgres: { uuid: "uuid", instant: "timestamptz", flag: "boolean", end: "" },
    sqlite: { uuid: "text", instant: "integer", flag: "integer", end: " strict" },
  });
  const bigints = db.dialect.pick({ postgres: "bigint", sqlite: "integer" });
  await db.query(
    raw(`create table ${THING.of(db.dialect).text} (thing_id ${type.uuid} primary key, serial ${bigints} not null,
      status text not null, how_many integer not null, token ${bigints} not null, made_at ${type.instant} not null,
      is_open ${type.flag} not null, details text, note text)${type.end}`),
  );
}

onEachDatabase((database) => {
  const insert = async (db: Database, thingId: string, details: string | null): Promise<void> => {
    const open = db.dialect.pick({ postgres: raw("true"), sqlite: raw("1") });
    await db.query(
      sql`insert into ${THING.of(db.dialect)} values (${thingId}, 9007199254740993, 'new', 3, ${2 ** 40},
        ${db.dialect.instantOf(1_700_000_000_123)}, ${open}, ${details}, null)`,
    );
  };

  it("[X-02] a table's declaration selects its columns and reads them as they are declared, on each database", async () => {
    const db = await database.open();
    await makeThings(db);
    const thingId = newId();
    await insert(db, thingId, '{"a":1}');
    const { dialect } = db;
    const read: RowOf<typeof THING> = {
      thingId,
      serial: "9007199254740993",
      status: "new",
      count: 3,
      token: 2 ** 40,
      madeAt: 1_700_000_000_123,
      isOpen: true,
      details: { a: 1 },
      note: undefined,
    };
    // A driver of SQLite returns a number, which cannot hold it, unless it is told to return a BigInt.
    const serial = dialect.pick({ postgres: "t.serial", sqlite: "cast(t.serial as text) as serial" });
    const list = raw(THING.columns(dialect, "t").text.replace("t.serial", serial));
    const [row] = await db.query(sql`select ${list} from ${THING.of(dialect)} as t`);
    expect(THING.read(row ?? {})).toEqual(read);
    const [returned] = await db.query(
      sql`update ${THING.of(dialect)} set serial = 7 returning ${THING.columns(dialect)}`,
    );
    expect(THING.read(returned ?? {})).toEqual({ ...read, serial: "7" });
  });

  it("[K-17] a row that somebody changed by hand is told apart from the others, and does not stop them", async () => {
    const db = await database.open();
    await makeThings(db);
    const [good, bad] = [newId(), newId()];
    await insert(db, good, null);
    await insert(db, bad, "{not json");
    await db.query(sql`update ${THING.of(db.dialect)} set serial = 7`);
    const rows = await db.query(
      sql`select ${THING.columns(db.dialect)} from ${THING.of(db.dialect)} order by thing_id`,
    );
    expect(rows.map((row) => THING.tryRead(row)?.thingId)).toEqual([good, undefined]);
    expect(() => rows.map((row) => THING.read(row))).toThrow(UnreadableRow);
    expect(() => rows.map((row) => THING.read(row))).toThrow("column details of a row cannot be read");
  });

  it("[X-02] a projection reads counts, instants of the database's clock, and another declaration's columns", async () => {
    const db = await database.open();
    const { dialect } = db;
    const counted = projection({
      ...THING.shape,
      rows: int("rows"),
      nowAt: instant("now_at"),
      ratio: float("ratio"),
    });
    const rest = projection({ rows: int("rows"), nowAt: instant("now_at"), ratio: float("ratio") });
    const [row] = await db.query(
      sql`select count(*) as rows, ${dialect.epochMs(dialect.now())} as now_at, 0.5 as ratio`,
    );
    const read = rest.read(row ?? {});
    expect(read.rows).toBe(1);
    expect(read.ratio).toBe(0.5);
    expect(read.nowAt).toBeGreaterThan(1_600_000_000_000);
    expect(() => counted.read(row ?? {})).toThrow("column thing_id");
  });
});

it("[X-02] a declaration that does not fit the type of its rows does not compile", () => {
  interface Thing {
    readonly name: string;
    readonly count: number | undefined;
  }
  const name = text("name");
  const fits = projection<Thing>({ name, count: optional(int("n")) });
  expect(fits.read({ name: "a", n: null })).toEqual({ name: "a", count: undefined });
  // @ts-expect-error A column is missing.
  expect(projection<Thing>({ name }).read({ name: "a" })).toEqual({ name: "a" });
  // @ts-expect-error A text is no number.
  expect(projection<Thing>({ name, count: text("n") }).tryRead({ name: "a" })).toBeUndefined();
});

it.each([
  [int("n"), null],
  [int("n"), ""],
  [int("n"), "three"],
  [int("n"), true],
  [bigint("n"), undefined],
  [id("n"), null],
  [text("n"), 7],
  [uuid("n"), null],
  [flag("n"), "yes"],
  [instant("n"), null],
  [json("n"), "{"],
])("[K-17] a value that a column cannot hold makes its row unreadable (%#)", (column, value) => {
  const of = projection({ n: column });
  expect(() => of.read({ n: value })).toThrow(UnreadableRow);
  expect(of.tryRead({ n: value })).toBeUndefined();
});

it.each([
  [int("n"), "7", 7],
  [bigint("n"), 7n, 7],
  [bigint("n"), "-7", -7],
  [id("n"), 7n, "7"],
  [id("n"), 7, "7"],
  [flag("n"), 0, false],
  [flag("n"), 1n, true],
  [instant("n"), "1700000000123.5", 1_700_000_000_123.5],
  [optional(int("n")), null, undefined],
])("[X-02] what drivers return in different forms is read as one (%#)", (column, value, read) => {
  expect(projection({ n: column }).read({ n: value })).toEqual({ n: read });
});
