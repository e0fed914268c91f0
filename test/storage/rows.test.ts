import fc from "fast-check";
import { expect, it } from "vitest";
import { bigint, flag, float, int, text, uuid } from "../../src/storage/column.ts";
import type { Database } from "../../src/storage/database.ts";
import { fields, type Fields } from "../../src/storage/fields.ts";
import { raw, sql } from "../../src/storage/sql.ts";
import { newId } from "../../src/runtime/identifiers.ts";
import { onDatabase, onEachDatabase } from "../support/databases.ts";

interface Given {
  readonly place: number;
  readonly words?: string | null | undefined;
  readonly number?: number | null;
  readonly serial?: string | null;
  readonly ms?: number | null;
  readonly isSet?: boolean | null;
  readonly key?: string | null;
}

const GIVEN = fields<Given>({
  place: int((one) => one.place),
  words: text((one) => one.words),
  number: int((one) => one.number),
  serial: bigint((one) => one.serial),
  ms: float((one) => one.ms),
  is_set: flag((one) => one.isSet),
  key: uuid((one) => one.key),
});

/** With two columns that nearly always have the same value. */
const COMMON = fields<{ readonly place: number; readonly label?: string; readonly gap?: number }>({
  place: int((one) => one.place),
  label: text((one) => one.label, { default: "it's" }),
  gap: int((one) => one.gap, { default: null }),
});

async function back<From>(
  db: Database,
  given: Fields<From>,
  from: readonly From[],
): Promise<readonly unknown[]> {
  const cast = (name: string): string =>
    name === "key" || name === "serial" ? `cast(r.${name} as text) as ${name}` : `r.${name}`;
  const list = raw(given.all.map(({ name }) => cast(name)).join(", "));
  const found = await db.query(sql`select ${list} from ${db.dialect.rows(given, from)} order by r.place`);
  return found.map((row) => ({ ...row }));
}

function expected({ place, words = null, number = null, serial = null, ...given }: Given): unknown {
  const { ms = null, isSet = null, key = null } = given;
  return { place, words, number, serial, ms, is_set: isSet === null ? null : isSet ? 1 : 0, key };
}

/** Texts of all scripts, with what quoting stumbles over; no NUL, which PostgreSQL does not keep. */
const words = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({
    unit: fc.constantFrom('"', "\\", "'", "{", "}", ",", "NULL", " ", "\n", "é", "🦊"),
    maxLength: 40,
  }),
);
const one = fc.record({
  words: fc.option(words.map((text_) => text_.replaceAll("\0", ""))),
  number: fc.option(fc.integer()),
  serial: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String)),
  ms: fc.option(
    fc.oneof(
      fc.integer({ min: -1e12, max: 1e12 }),
      fc.integer({ min: -1e9, max: 1e9 }).map((n) => n / 8),
    ),
  ),
  isSet: fc.option(fc.boolean()),
  key: fc.option(fc.uuid()),
});

onEachDatabase((database) => {
  it("[X-02] whatever objects hold arrives as it was given, however many there are", async () => {
    const db = await database.open();
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 12 }), async (some) => {
        const given = some.map((rest, place) => ({ place, ...rest }));
        expect(await back(db, GIVEN, given)).toEqual(given.map(expected));
      }),
      { numRuns: 60 },
    );
  });

  it("[X-02] columns that have their default in all rows arrive as well, and so do those of rows in which one has not", async () => {
    const db = await database.open();
    const plain = [0, 1, 2].map((place) => ({ place, label: "it's" }));
    const odd = [...plain, { place: 3, label: "another", gap: 7 }];
    const arrived = (some: typeof odd): unknown[] => some.map((row) => ({ gap: null, ...row }));
    for (const some of [plain, plain.slice(0, 1), odd, odd.slice(3)])
      expect(await back(db, COMMON, some)).toEqual(arrived(some));
  });

  it("[X-02] a long text among short ones, and a thousand rows, arrive whole", async () => {
    const db = await database.open();
    const given = Array.from({ length: 1_000 }, (_, place) => ({
      place,
      words: place === 500 ? "ß".repeat(200_000) : `w${place}`,
      number: 7 - place,
      serial: String(2 ** 40 + place),
      key: newId(),
    }));
    expect(await back(db, GIVEN, given)).toEqual(given.map(expected));
  });

  it("[X-02] fields are spread into a larger relation, picked from it, and listed by their names", async () => {
    const db = await database.open();
    const larger = fields<Given>({ twice: int((given) => given.place * 2), ...GIVEN.pick("place").shape });
    expect(larger.names.text).toBe("twice, place");
    expect(larger.list().text).toBe("r.twice, r.place");
    expect(await back(db, larger, [{ place: 4 }])).toEqual([{ twice: 8, place: 4 }]);
    expect(() => GIVEN.pick("nothing")).toThrow("there is no field nothing");
  });
});

onDatabase("postgres", (database) => {
  const refused: readonly (readonly [string, unknown])[] = [
    ["a key that is no UUID", { key: "018f3a9c-0000-7000-8000-00000000000g" }],
    ["a key that is too short", { key: "018f3a9c" }],
    ["a key with its dashes elsewhere", { key: "018f3a9c0-000-7000-8000-000000000000" }],
    ["a number that is no integer", { number: 1.5 }],
    ["a number that is too large", { number: 2 ** 31 }],
    ["a serial number that is none", { serial: "one" }],
    ["a serial number that is empty", { serial: "" }],
    ["a truth value for a number", { number: true }],
    ["a text for a number with a fraction", { ms: "1.5" }],
    ["a text with a NUL character", { words: "a\0b" }],
  ];
  it.each(refused)("[X-02] %s is refused, and nothing else is written in its place", async (_what, bad) => {
    const db = await database.open();
    const good: Given = { place: 1, words: "b", number: 2, serial: "2", key: newId() };
    await expect(back(db, GIVEN, [good, { place: 0, ...(bad as object) }])).rejects.toThrow(
      /not a UUID|not an integer|32-bit integer|not a number|0x00/,
    );
    expect(await back(db, GIVEN, [good, { place: 2, words: "c", serial: "3" }])).toHaveLength(2);
  });
});

it("[X-02] a value of the wrong type for its column does not compile", () => {
  // @ts-expect-error A number is no text.
  expect(fields<Given>({ place: text((given) => given.place) }).all).toHaveLength(1);
  // @ts-expect-error A text is no number.
  expect(fields<Given>({ words: int((given) => given.words) }).all).toHaveLength(1);
  // @ts-expect-error The default is no number.
  expect(fields<Given>({ number: int((given) => given.number, { default: "one" }) }).all).toHaveLength(1);
});
