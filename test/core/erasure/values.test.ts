import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { span } from "../../../src/core/erasure/period.ts";
import { checkCorrections, checkSubjectId, matchRefs } from "../../../src/core/erasure/request.ts";
import type { ColumnType, Family } from "../../../src/core/erasure/schema.ts";
import { checksIn, sqliteType } from "../../../src/core/erasure/sqlite-ddl.ts";
import { candidates, plainSurrogate, surrogateFor } from "../../../src/core/erasure/surrogate.ts";
import { misfit } from "../../../src/core/erasure/value.ts";

const FAMILIES: readonly Family[] = [
  "text",
  "integer",
  "decimal",
  "boolean",
  "date",
  "timestamp",
  "time",
  "uuid",
  "json",
  "enum",
];
const typeOf = (family: Family, more: Partial<ColumnType> = {}): ColumnType => ({
  family,
  sqlName: family,
  ...(family === "enum" && { labels: ["red", "green"] }),
  ...more,
});
const plainly = { isUnique: false, declared: undefined, checked: undefined };

describe("surrogates", () => {
  it.each(FAMILIES)("[E-03] the surrogate of a column of type %s fits it, and is not null", (family) => {
    const type = typeOf(family);
    expect(misfit(plainSurrogate(type), type)).toBeUndefined();
    expect(surrogateFor({ ...plainly, type })).toEqual({ kind: "value", value: plainSurrogate(type) });
  });

  it("[E-03] a surrogate keeps every length limit, a distinct one too, or there is none", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 80 }), (maxLength) => {
        const type = typeOf("text", { maxLength });
        expect(String(plainSurrogate(type)).length).toBeLessThanOrEqual(maxLength);
        const distinct = surrogateFor({ ...plainly, type, isUnique: true });
        const isText = "kind" in distinct && distinct.kind === "distinct" && distinct.form === "text";
        const [length, random] = isText ? [distinct.mark.length + distinct.random, distinct.random] : [0, 0];
        expect(isText).toBe(maxLength >= 13);
        expect(length).toBeLessThanOrEqual(maxLength);
        expect(random).toBeGreaterThanOrEqual(isText ? 12 : 0);
      }),
    );
  });

  it.each(["boolean", "date", "timestamp", "enum", "json", "decimal"] as const)(
    "[E-03] a unique column of type %s has too few values for distinct surrogates",
    (family) => {
      expect(surrogateFor({ ...plainly, type: typeOf(family), isUnique: true })).toHaveProperty("problem");
    },
  );

  it("[E-03] a declared surrogate must fit the type, the checks and the number of rows", () => {
    const type = typeOf("text", { maxLength: 3 });
    expect(surrogateFor({ ...plainly, type, declared: "abc" })).toEqual({ kind: "value", value: "abc" });
    expect(surrogateFor({ ...plainly, type, declared: "abcd" })).toHaveProperty("problem");
    expect(surrogateFor({ ...plainly, type, declared: 1 })).toHaveProperty("problem");
    expect(surrogateFor({ ...plainly, type, declared: "abc", isUnique: true })).toHaveProperty("problem");
    expect(
      surrogateFor({ ...plainly, type, declared: "abc", checked: { passes: undefined } }),
    ).toHaveProperty("problem");
  });

  it("[E-01] a type that nothing is known of needs a declared surrogate", () => {
    expect(surrogateFor({ ...plainly, type: typeOf("other") })).toHaveProperty("problem");
    expect(surrogateFor({ ...plainly, type: typeOf("other"), declared: "(0,0)" })).toMatchObject({
      value: "(0,0)",
    });
    expect(surrogateFor({ ...plainly, type: typeOf("text", { ruled: true }) })).toHaveProperty("problem");
  });

  it("[E-03] the literals of a CHECK constraint are tried, in its type", () => {
    const text = typeOf("text", { maxLength: 10 });
    expect(candidates(text, ["(size = ANY (ARRAY['s'::text, 'it''s']))"], undefined)).toEqual([
      "erased",
      "s",
      "it's",
    ]);
    expect(candidates(typeOf("integer"), ["age >= 18 and age < 150"], undefined)).toEqual([
      0, 18, 19, 17, 150, 151, 149,
    ]);
    expect(candidates(text, ["size in ('s')"], "m")).toEqual(["m"]);
  });
});

describe("values", () => {
  it("[E-08] a correction must be one that the column can hold", () => {
    const fits: readonly (readonly [ColumnType, unknown, boolean])[] = [
      [typeOf("text", { maxLength: 2 }), "🙂🙂", true],
      [typeOf("text", { maxLength: 2 }), "🙂🙂🙂", false],
      [typeOf("text"), 5, false],
      [typeOf("text"), "half \ud800", false],
      [typeOf("integer", { bytes: 2 }), 32_767, true],
      [typeOf("integer", { bytes: 2 }), 32_768, false],
      [typeOf("integer"), 1.5, false],
      [typeOf("decimal"), Number.NaN, false],
      [typeOf("boolean"), "true", false],
      [typeOf("date"), "2026-02-28", true],
      [typeOf("date"), "2026-02-30", false],
      [typeOf("timestamp"), "2026-02-28T12:00:00Z", true],
      [typeOf("timestamp"), "2026-02-30T12:00:00Z", false],
      [typeOf("timestamp"), "soon", false],
      [typeOf("time"), "25:00:00", false],
      [typeOf("uuid"), "no", false],
      [typeOf("enum"), "blue", false],
      [typeOf("enum"), "green", true],
      [typeOf("json"), "{", false],
      [typeOf("bytes"), "x", false],
    ];
    for (const [type, value, isFit] of fits) {
      expect([type.family, value, misfit(value as string, type) === undefined]).toEqual([
        type.family,
        value,
        isFit,
      ]);
    }
  });

  it("[E-01] periods are durations, months or years", () => {
    expect(span("10y", "x")).toEqual({ months: 120, ms: 0 });
    expect(span("1mo", "x")).toEqual({ months: 1, ms: 0 });
    expect(span("30d", "x")).toEqual({ months: 0, ms: 30 * 86_400_000 });
    for (const wrong of ["0y", "1001y", "1.5y", "y", "-1mo", "1 y", 0]) {
      expect(() => span(wrong as "1y", "The time")).toThrow(/^The time must be/);
    }
  });
});

describe("what is handed in", () => {
  it("[E-02] a subject's id is a text of 1 to 255 characters", () => {
    for (const wrong of [undefined, null, 7, "", "x".repeat(256), "a\0b", "half \ud800"]) {
      expect(() => checkSubjectId(wrong)).toThrow(expect.objectContaining({ code: "BAD_ID" }));
    }
    expect(checkSubjectId("x".repeat(255))).toHaveLength(255);
  });

  it("[E-04] refs go to the resolver of their kind, each once; the others are skipped", () => {
    const refs = [
      { kind: "a", value: "1" },
      { kind: "a", value: "2" },
      { kind: "a", value: "1" },
    ];
    expect(matchRefs(refs, ["a", "b"])).toEqual({ refs: refs.slice(0, 2), skipped: ["b"] });
    for (const wrong of [
      undefined,
      {},
      [null],
      [{ kind: "a" }],
      [{ kind: "a", value: "" }],
      [{ kind: "c", value: "1" }],
      [{ kind: "a", value: "1", extra: { n: 1 } }],
    ]) {
      expect(() => matchRefs(wrong, ["a", "b"])).toThrow(expect.objectContaining({ name: "AmendsError" }));
    }
  });

  it("[E-08] corrections name known categories, each once, and no error repeats a value", () => {
    const categories = ["email", "name"];
    const secret = "canary-7";
    const wrong: readonly unknown[] = [
      undefined,
      [],
      [null],
      [{ category: secret, value: "x" }],
      [{ category: "email", value: { secret } }],
      [
        { category: "email", value: secret },
        { category: "email", value: "b" },
      ],
      [{ category: "email", value: `${secret}\0` }],
    ];
    for (const given of wrong) {
      const refused = thrownBy(() => checkCorrections(given, categories));
      expect(refused).toMatchObject({ code: "BAD_INPUT" });
      expect(String(refused)).not.toContain(secret);
    }
    expect(checkCorrections([{ category: "email", value: "x" }], categories)).toHaveLength(1);
  });
});

describe("SQLite's own words", () => {
  it("[E-01] CHECK constraints are read from the text that made the table", () => {
    const ddl = `create table t (
      id text primary key check (length(id) > 1), -- check (note)
      size text check (size in ('s)', 'check (x)')), "odd name" int, note text,
      constraint both check ((size <> note) and 1 = 1)) strict`;
    expect(checksIn(ddl, ["id", "size", "odd name", "note"])).toEqual([
      { columns: ["id"], expression: "length(id) > 1" },
      { columns: ["size"], expression: "size in ('s)', 'check (x)')" },
      { columns: ["size", "note"], expression: "(size <> note) and 1 = 1" },
    ]);
  });

  it("[E-01] declared types are taken by what they are meant to hold", () => {
    const families = [
      "VARCHAR(20)",
      "INTEGER",
      "bigint",
      "BOOLEAN",
      "DATETIME",
      "date",
      "blob",
      "DECIMAL(10,2)",
      "UUID",
      "json",
      "",
      "GEOMETRY",
    ];
    expect(families.map((declared) => sqliteType(declared).family)).toEqual([
      "text",
      "integer",
      "integer",
      "boolean",
      "timestamp",
      "date",
      "bytes",
      "decimal",
      "uuid",
      "json",
      "text",
      "other",
    ]);
    expect(sqliteType("varchar(20)").maxLength).toBe(20);
    expect(sqliteType("datetime").loose).toBe(true);
  });
});

function thrownBy(call: () => unknown): unknown {
  try {
    return call();
  } catch (error) {
    return error;
  }
}
