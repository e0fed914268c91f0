import fc from "fast-check";
import { expect, it } from "vitest";
import type { Column, Database } from "../../src/storage/database.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

const COLUMNS: readonly Column[] = [
  { name: "place", type: "int" },
  { name: "words", type: "text" },
  { name: "number", type: "int" },
  { name: "serial", type: "bigint" },
  { name: "key", type: "uuid" },
];
/** As above, with two columns that are nearly always the same. */
const USUAL: readonly Column[] = [
  { name: "place", type: "int" },
  { name: "label", type: "text", usual: "it's" },
  { name: "words", type: "text" },
  { name: "gap", type: "int", usual: null },
];

type Given = readonly (readonly unknown[])[];

async function back(db: Database, columns: readonly Column[], rows: Given): Promise<Given> {
  const names = columns.map(({ name }) => name);
  const list = names.map((name) => (name === "key" ? "cast(r.key as text) as key" : `r.${name}`)).join(", ");
  const found = await db.query(sql`select ${raw(list)} from ${db.dialect.rows(columns, rows)} order by 1`);
  return found.map((row) => names.map((name) => (name === "serial" ? text(row[name]) : (row[name] ?? null))));
}

function text(value: unknown): string | null {
  return value === null || value === undefined ? null : `${value as number | string}`;
}

/** Texts of all scripts, with what quoting stumbles over; no NUL, which PostgreSQL does not keep. */
const words = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('"', "\\", "'", "{", "}", ",", "NULL", " ", "\n", "é", "🦊"),
    maxLength: 40,
  }),
);
const row = fc.record({
  words: fc.option(words.map((one) => one.replaceAll("\0", ""))),
  number: fc.option(fc.integer()),
  serial: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
  key: fc.option(fc.uuid()),
});

onEachDatabase((database) => {
  it("[X-02] whatever rows hold arrives as it was given, however many there are", async () => {
    const db = await database.open();
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 12 }), async (some) => {
        const rows = some.map(({ words: one, number, serial, key }, place) => [
          place,
          one,
          number,
          serial,
          key,
        ]);
        expect(await back(db, COLUMNS, rows)).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it("[X-02] columns that are as usual in all rows arrive as well, and so do those of rows in which one is not", async () => {
    const db = await database.open();
    const plain = [0, 1, 2].map((place) => [place, "it's", `row ${place}`, null]);
    expect(await back(db, USUAL, plain)).toEqual(plain);
    expect(await back(db, USUAL, plain.slice(0, 1))).toEqual(plain.slice(0, 1));
    const odd = [...plain, [3, "another", "row 3", 7]];
    expect(await back(db, USUAL, odd)).toEqual(odd);
    expect(await back(db, USUAL, odd.slice(3))).toEqual(odd.slice(3));
  });

  it("[X-02] a long text among short ones, and a thousand rows, arrive whole", async () => {
    const db = await database.open();
    const rows = Array.from({ length: 1_000 }, (_, place) => [
      place,
      place === 500 ? "ß".repeat(200_000) : `w${place}`,
      7 - place,
      String(2 ** 40 + place),
      newId(),
    ]);
    expect(await back(db, COLUMNS, rows)).toEqual(rows);
  });
});

onDatabase("postgres", (database) => {
  const refused: readonly (readonly [string, readonly unknown[]])[] = [
    ["a key that is no UUID", [0, "a", 1, "1", "018f3a9c-0000-7000-8000-00000000000g"]],
    ["a key that is too short", [0, "a", 1, "1", "018f3a9c"]],
    ["a key with its dashes elsewhere", [0, "a", 1, "1", "018f3a9c0-000-7000-8000-000000000000"]],
    ["a number that is no integer", [0, "a", 1.5, "1", null]],
    ["a number that is too large", [0, "a", 2 ** 31, "1", null]],
    ["a serial number that is none", [0, "a", 1, "one", null]],
    ["a serial number that is empty", [0, "a", 1, "", null]],
    ["a truth value for a number", [0, "a", true, "1", null]],
    ["a text with a NUL character", [0, "a\0b", 1, "1", null]],
  ];
  it.each(refused)("[X-02] %s is refused, and nothing else is written in its place", async (_what, bad) => {
    const db = await database.open();
    const good = [1, "b", 2, "2", newId()];
    await expect(back(db, COLUMNS, [good, bad])).rejects.toThrow(
      /not a UUID|not an integer|32-bit integer|0x00/,
    );
    expect(await back(db, COLUMNS, [good, [2, "c", 3, "3", null]])).toHaveLength(2);
  });
});
