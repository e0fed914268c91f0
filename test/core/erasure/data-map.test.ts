import { AmendsError } from "amends";
import { dataMap, dataMapFromJson, type DataMapJson } from "amends/erasure";
import { describe, expect, it } from "vitest";

const policy = { reason: "tax office", legalBasis: "tax law", duration: "10y", anchor: "placed_at" } as const;

function refusal(json: unknown): string {
  try {
    dataMapFromJson(json);
  } catch (error) {
    if (error instanceof AmendsError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "accepted";
}

const users = { subject: "id", columns: { email: { category: "email", strategy: "delete" } } };

describe("a data map", () => {
  it("[E-01] knows its tables, their ways to the subject, and its categories", () => {
    const map = dataMap({
      users: { subject: "id", columns: { email: { category: "email", strategy: "anonymize" } } },
      orders: {
        via: { table: "users", columns: ["user_id", "shop"], references: ["id", "shop"] },
        columns: { name: { category: "name", strategy: "retain", policy } },
      },
      lines: { via: "orders" },
    });
    expect(map.categories).toEqual(["email", "name"]);
    expect(map.tables.map(({ name, reach }) => [name, reach])).toEqual([
      ["users", { kind: "subject", column: "id" }],
      ["orders", { kind: "via", table: "users", columns: ["user_id", "shop"], references: ["id", "shop"] }],
      ["lines", { kind: "via", table: "orders", columns: undefined, references: undefined }],
    ]);
  });

  it("[E-01] is written to JSON and read back as the same map", () => {
    const json: DataMapJson = {
      users: { subject: "id", columns: { email: { category: "email", strategy: "delete" } }, keepRows: true },
      orders: {
        via: "users",
        columns: { name: { category: "name", strategy: "retain", policy, surrogate: "x" } },
      },
    };
    const text = JSON.stringify(dataMap(json));
    const again = dataMapFromJson(JSON.parse(text));
    expect(JSON.parse(text)).toEqual(json);
    expect(again.tables).toEqual(dataMap(json).tables);
    expect(JSON.stringify(again)).toBe(text);
  });

  const refused: readonly (readonly [what: string, json: unknown, message: RegExp])[] = [
    ["nothing", undefined, /A data map is an object/],
    ["a list", [], /A data map is an object/],
    ["no table", {}, /at least one table/],
    ["a table without a way", { users: {} }, /table users: say either `subject`/],
    [
      "a table with two ways",
      { users: { subject: "id", via: "users" } },
      /table users: say either `subject`/,
    ],
    [
      "a misspelt field",
      { users: { subject: "id", colums: {} } },
      /table users: there is no option named colums/,
    ],
    [
      "a way to nowhere",
      { users, orders: { via: "user" } },
      /table orders: its rows go via user, which is not in the map/,
    ],
    ["a way in a circle", { a: { via: "b" }, b: { via: "a" } }, /never reach a subject.*a → b → a/],
    ["a way to itself", { a: { via: "a" } }, /a → a/],
    [
      "columns that do not pair",
      { users, o: { via: { table: "users", columns: ["a", "b"], references: "id" } } },
      /equally many/,
    ],
    [
      "an unknown strategy",
      { u: { subject: "id", columns: { e: { category: "email", strategy: "hide" } } } },
      /u\.e: the strategy is one of delete, anonymize, retain/,
    ],
    ["no category", { u: { subject: "id", columns: { e: { strategy: "delete" } } } }, /u\.e: category/],
    [
      "retention without policy",
      { u: { subject: "id", columns: { e: { category: "email", strategy: "retain" } } } },
      /u\.e: what is retained needs a policy/,
    ],
    [
      "a policy for what is erased",
      { u: { subject: "id", columns: { e: { category: "email", strategy: "delete", policy } } } },
      /only what is retained has a policy/,
    ],
    [
      "a policy without a law",
      {
        u: {
          subject: "id",
          columns: { e: { category: "e", strategy: "retain", policy: { ...policy, legalBasis: " " } } },
        },
      },
      /legalBasis must say something/,
    ],
    [
      "a policy for no time",
      {
        u: {
          subject: "id",
          columns: { e: { category: "e", strategy: "retain", policy: { ...policy, duration: "0d" } } },
        },
      },
      /duration must be longer than zero/,
    ],
    [
      "a policy without an anchor",
      {
        u: {
          subject: "id",
          columns: { e: { category: "e", strategy: "retain", policy: { ...policy, anchor: "" } } },
        },
      },
      /anchor must be a name/,
    ],
    [
      "a null surrogate",
      { u: { subject: "id", columns: { e: { category: "e", strategy: "delete", surrogate: null } } } },
      /never empty \(null\)/,
    ],
    [
      "a personal subject's id",
      { u: { subject: "id", columns: { id: { category: "email", strategy: "delete" } } } },
      /u\.id: rows reach their subject through it/,
    ],
  ];

  it.each(refused)(
    "[E-01] %s is refused at definition, with the place and what to do",
    (_what, json, message) => {
      const said = refusal(json);
      expect(said).toMatch(message);
      expect(said).toMatch(/^BAD_(DEFINITION|OPTION|DURATION) /);
    },
  );
});
