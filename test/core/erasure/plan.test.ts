import { AmendsError } from "amends";
import { dataMapFromJson, type DataMapJson } from "amends/erasure";
import { describe, expect, it } from "vitest";
import { fit, probes } from "../../../src/core/erasure/fit.ts";
import { planErasure, type ErasurePlan } from "../../../src/core/erasure/plan.ts";
import type { ForeignKey, LiveSchema, LiveTable } from "../../../src/core/erasure/schema.ts";
import { sqliteType } from "../../../src/core/erasure/sqlite-ddl.ts";

/** `"users(id, email, org -> orgs.id cascade)"`: the first column is the key; `!` says unique. */
function schema(...tables: readonly string[]): LiveSchema {
  const foreignKeys: ForeignKey[] = [];
  const read = tables.map((text): LiveTable => {
    const [, name = "", inside = ""] = /^(\w+)\((.*)\)$/.exec(text) ?? [];
    const columns = inside.split(", ").map((part) => {
      const [, column = "", unique = "", type = "text", to, referred, onDelete] =
        /^(\w+)(!?)(?: (\w+(?:\(\d+\))?))?(?: -> (\w+)\.(\w+)(?: (.+))?)?$/.exec(part) ?? [];
      if (to !== undefined && referred !== undefined) {
        const rule = (onDelete ?? "no action") as ForeignKey["onDelete"];
        foreignKeys.push({
          child: name,
          childSqlName: name,
          columns: [column],
          required: false,
          parent: to,
          references: [referred],
          onDelete: rule,
        });
      }
      return {
        name: column,
        unique: unique === "!",
        type: sqliteType(type),
        nullable: true,
        generated: false,
      };
    });
    const key = [columns[0]?.name ?? ""];
    return {
      name,
      sqlName: name,
      isTable: true,
      columns,
      primaryKey: key,
      uniques: [key, ...columns.filter(({ unique }) => unique).map((one) => [one.name])],
      checks: [],
    };
  });
  return { dialect: "sqlite", tables: read, foreignKeys };
}

const gone = { category: "any", strategy: "delete" } as const;
const hidden = { category: "any", strategy: "anonymize" } as const;
const policy = { reason: "law", legalBasis: "law", duration: "10y", anchor: "since" } as const;
const retained = { category: "any", strategy: "retain", policy } as const;

function plan(map: DataMapJson, live: LiveSchema): ErasurePlan {
  return planErasure(fit(dataMapFromJson(map), live, new Map()));
}

function refusal(map: DataMapJson, live: LiveSchema): string {
  try {
    plan(map, live);
  } catch (error) {
    if (error instanceof AmendsError) return `${error.code} ${error.message}`;
    throw error;
  }
  return "accepted";
}

const steps = ({ operations }: ErasurePlan): readonly string[] =>
  operations.map(({ kind, table }) => `${kind} ${table}`);

describe("the plan", () => {
  it("[E-02] goes from children to parents, whatever the order in the map", () => {
    const live = schema(
      "users(id, email)",
      "threads(id, user_id -> users.id, title)",
      "posts(id, thread_id -> threads.id, body)",
    );
    const map = {
      users: { subject: "id", columns: { email: gone } },
      threads: { via: "users", columns: { title: gone } },
      posts: { via: "threads", columns: { body: gone } },
    } as const;
    const order = ["delete posts", "delete threads", "delete users"];
    expect(steps(plan(map, live))).toEqual(order);
    expect(steps(plan({ posts: map.posts, users: map.users, threads: map.threads }, live))).toEqual(order);
  });

  it("[E-03] deletes a row only where all of it is personal, a key or a foreign key, and all of that says delete", () => {
    const cases: readonly (readonly [string, DataMapJson[string], string])[] = [
      ["notes(id, owner, body)", { subject: "owner", columns: { body: gone } }, "delete notes"],
      ["notes(id, owner, body, likes int)", { subject: "owner", columns: { body: gone } }, "anonymize notes"],
      [
        "notes(id, owner, body, title)",
        { subject: "owner", columns: { body: gone, title: hidden } },
        "anonymize notes",
      ],
      [
        "notes(id, owner, body)",
        { subject: "owner", columns: { body: gone }, keepRows: true },
        "anonymize notes",
      ],
      ["notes(id, owner, org -> orgs.id)", { subject: "owner" }, "delete notes"],
    ];
    for (const [table, declared, expected] of cases) {
      expect(steps(plan({ notes: declared }, schema(table, "orgs(id)")))).toEqual([expected]);
    }
  });

  it("[E-03] a row with a retention is deleted when all are over, and otherwise loses what is not retained", () => {
    const own = { ...retained, policy: { ...policy, anchor: "since" } };
    const map = { bills: { subject: "owner", columns: { name: own, note: gone, since: own } } } as const;
    const { operations, retained: kept } = plan(map, schema("bills(id, owner, name, note, since date)"));
    expect(operations).toMatchObject([
      { kind: "delete", unless: [{ column: "name" }, { column: "since" }] },
      {
        kind: "anonymize",
        set: [
          { column: "name", unless: { column: "name" } },
          { column: "note", unless: undefined },
          { column: "since" },
        ],
      },
    ]);
    expect(kept).toMatchObject([
      { table: "bills", retentions: [{ span: { months: 120 } }, { legalBasis: "law" }] },
    ]);
    const later = { ...retained, policy: { ...policy, afterwards: "anonymize" } } as const;
    expect(
      steps(
        plan(
          { bills: { subject: "owner", columns: { name: later, since: own } } },
          schema("bills(id, owner, name, since date)"),
        ),
      ),
    ).toEqual(["anonymize bills"]);
  });

  it("[E-05] rows that stay and belong to rows that are deleted are refused, with table and column", () => {
    const live = schema("users(id, email)", "orders(id, user_id -> users.id set null, cents int, note)");
    const map = {
      users: { subject: "id", columns: { email: gone } },
      orders: { via: "users", columns: { note: gone } },
    } as const;
    expect(refusal(map, live)).toMatch(
      /^ERASURE_REFUSED .*nothing was written.*orders\.user_id: its rows stay, but they belong to rows of users/s,
    );
    expect(refusal({ ...map, users: { ...map.users, keepRows: true } }, live)).toBe("accepted");
  });

  it("[E-05] whoever else refers to what is deleted is asked about before anything is written", () => {
    const live = schema(
      "users(id, email)",
      "log(id, user_id -> users.id cascade, text)",
      "posts(id, owner, about -> users.id, body)",
      "seen(id, user_id -> users.id set null)",
    );
    const map = {
      users: { subject: "id", columns: { email: gone } },
      posts: { subject: "owner", columns: { body: gone } },
    } as const;
    const { guards } = plan(map, live);
    expect(guards).toMatchObject([
      { child: "log", columns: ["user_id"], also: undefined, cascades: true },
      { child: "posts", columns: ["about"], also: { table: "posts" }, cascades: false },
    ]);
  });

  it("[E-05] a foreign key that is retained must not be emptied by ON DELETE SET NULL", () => {
    const live = schema("users(id, email)", "bills(id, owner, payer -> users.id set null, since date)");
    const map = {
      users: { subject: "id", columns: { email: gone } },
      bills: { subject: "owner", columns: { payer: retained } },
    } as const;
    expect(refusal(map, live)).toMatch(/bills\.payer/);
  });

  it("[E-01] a circle of foreign keys between tables whose rows are deleted is refused, and named", () => {
    const live = schema("a(id, owner, b_id -> b.id, x)", "b(id, a_id -> a.id, y)");
    const map = {
      a: { subject: "owner", columns: { x: gone } },
      b: { via: "a", columns: { y: gone } },
    } as const;
    expect(refusal(map, live)).toMatch(
      /^DATA_MAP_MISFIT .*circle \((a\.b_id → b\.a_id → a|b\.a_id → a\.b_id → b)\)/s,
    );
    expect(refusal({ ...map, a: { ...map.a, keepRows: true }, b: { ...map.b, keepRows: true } }, live)).toBe(
      "accepted",
    );
  });

  it("[E-01] rows that refer to rows of their own table are no circle", () => {
    const live = schema("posts(id, owner, reply_to -> posts.id restrict, body)");
    const made = plan({ posts: { subject: "owner", columns: { body: gone } } }, live);
    expect(made.operations).toMatchObject([
      { kind: "delete", among: [{ columns: ["reply_to"], references: ["id"] }] },
    ]);
    expect(made.guards).toMatchObject([{ child: "posts", columns: ["reply_to"] }]);
  });
});

describe("the fit", () => {
  const live = schema(
    "users(id, email! varchar(5), shape geometry, born date)",
    "orders(id, user_id -> users.id, buyer -> users.id, since bytes)",
  );
  const cases: readonly (readonly [string, DataMapJson, RegExp])[] = [
    ["a missing table", { people: { subject: "id" } }, /people: there is no such table/],
    [
      "a missing column",
      { users: { subject: "id", columns: { mail: gone } } },
      /users\.mail: there is no such column/,
    ],
    [
      "a missing subject column",
      { users: { subject: "uid" } },
      /users\.uid: there is no such column to find the subject by/,
    ],
    [
      "a subject of an odd type",
      { users: { subject: "shape" } },
      /users\.shape: has the type geometry; a subject's id is/,
    ],
    [
      "two foreign keys to choose from",
      { users: { subject: "id", keepRows: true }, orders: { via: "users" } },
      /orders: several foreign keys lead to users \(user_id; buyer\)/,
    ],
    [
      "a table without a foreign key",
      { orders: { subject: "id" }, users: { via: "orders" } },
      /users: its rows cannot reach orders: there is no foreign key/,
    ],
    [
      "columns that are no foreign key",
      { orders: { subject: "id" }, users: { via: { table: "orders", columns: "born" } } },
      /users\.born: is no foreign key to orders/,
    ],
    [
      "a reference to a missing column",
      { users: { subject: "id" }, orders: { via: { table: "users", columns: "since", references: "uid" } } },
      /users\.uid: there is no such column/,
    ],
    [
      "a type without a surrogate",
      { users: { subject: "id", columns: { shape: hidden } } },
      /users\.shape: has the type geometry, for which there is no surrogate/,
    ],
    [
      "a unique column that is too short",
      { users: { subject: "id", columns: { email: hidden } } },
      /users\.email: must be unique, and 5 characters are too few/,
    ],
    [
      "a foreign key that would be overwritten",
      { orders: { subject: "user_id", columns: { buyer: hidden } } },
      /orders\.buyer: is a foreign key/,
    ],
    [
      "a key that others refer to",
      { users: { subject: "born", columns: { id: hidden } } },
      /users\.born: has the type date/,
    ],
    [
      "a missing anchor",
      { users: { subject: "id", columns: { born: retained } } },
      /users\.born: is retained from since on, and there is no such column in users/,
    ],
    [
      "an anchor that holds no instant",
      { orders: { subject: "user_id", columns: { id: retained } } },
      /orders\.id: is retained from since on, which has the type bytes and holds no instant/,
    ],
    [
      "an anchor that is erased itself",
      {
        users: {
          subject: "id",
          columns: {
            shape: { ...retained, policy: { ...policy, anchor: "born" }, surrogate: "x" },
            born: hidden,
          },
        },
      },
      /users\.shape: is retained from born on, which is personal itself/,
    ],
  ];

  it.each(cases)("[E-01] %s is named, with what to do", (_what, map, message) => {
    expect(refusal(map, live)).toMatch(message);
    expect(refusal(map, live)).toMatch(/^DATA_MAP_MISFIT /);
  });

  it("[E-01] everything that does not fit is told at once", () => {
    const map = { users: { subject: "id", columns: { a: gone, b: gone, shape: hidden } } } as const;
    expect(() => plan(map, live)).toThrow(
      expect.objectContaining({
        details: {
          problems: [
            expect.objectContaining({ column: "a" }),
            expect.objectContaining({ column: "b" }),
            expect.objectContaining({ column: "shape" }),
          ] as unknown[],
        },
      }),
    );
  });

  it("[E-03] a CHECK over several columns is not guessed at, and a declared surrogate is taken at its word", () => {
    const [users, orders] = live.tables as readonly [LiveTable, LiveTable];
    const checks = [{ columns: ["born", "email"], expression: "born <> email" }];
    const checked = { ...live, tables: [{ ...users, checks }, orders] };
    const map = (surrogate?: string): DataMapJson => ({
      users: {
        subject: "id",
        columns: { born: { ...hidden, ...(surrogate !== undefined && { surrogate }) } },
      },
    });
    expect(probes(dataMapFromJson(map()), checked)).toMatchObject([
      { id: "users.born", expressions: [], candidates: [] },
    ]);
    expect(probes(dataMapFromJson(map("1999-01-01")), checked)).toMatchObject([
      { candidates: ["1999-01-01"] },
    ]);
  });
});
