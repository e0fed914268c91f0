import { Amends, type Database } from "amends";
import { dataMap, type DataMap, type Erasure, type PersonalColumn } from "amends/erasure";
import { expectTypeOf, it } from "vitest";

interface Tx {
  readonly own: true;
}
declare const database: Database<Tx>;
const policy = { reason: "tax", legalBasis: "tax law", duration: "10y", anchor: "placed_at" } as const;

const map = dataMap({
  users: { subject: "id", columns: { email: { category: "email", strategy: "delete" } } },
  orders: { via: "users", columns: { name: { category: "name", strategy: "retain", policy } } },
});

it("[E-01] a map knows its categories", () => {
  expectTypeOf(map).toEqualTypeOf<DataMap<"email" | "name">>();
});

it("[E-01] a way to a table that is not in the map does not compile", () => {
  expectTypeOf(dataMap({ users: { subject: "id" }, orders: { via: "users" } })).toEqualTypeOf<DataMap>();
  // @ts-expect-error there is no table named user
  dataMap({ users: { subject: "id" }, orders: { via: "user" } });
  // @ts-expect-error there is no table named user
  dataMap({ users: { subject: "id" }, orders: { via: { table: "user", columns: "user_id" } } });
});

it("[E-01] what is retained without a policy, and a policy for what is erased, do not compile", () => {
  expectTypeOf<{ category: "a"; strategy: "retain" }>().not.toExtend<PersonalColumn>();
  // @ts-expect-error retain needs a policy
  dataMap({ users: { subject: "id", columns: { email: { category: "email", strategy: "retain" } } } });
  const erased = { category: "email", strategy: "delete", policy } as const;
  // @ts-expect-error delete has none
  dataMap({ users: { subject: "id", columns: { email: erased } } });
  // @ts-expect-error either its own column or a way, not both
  dataMap({ users: { subject: "id", via: "users" } });
});

it("[E-08] corrections name categories of the map, and the transaction is the database's own", () => {
  const { erasure } = new Amends({ database, erasure: { dataMap: map } });
  const tx = { own: true } as const;
  expectTypeOf(erasure).toEqualTypeOf<Erasure<Tx, "email" | "name">>();
  expectTypeOf(erasure.rectifySubject).toBeCallableWith(
    "u-1",
    [{ category: "email", value: "a@x" }],
    [{ kind: "crm", value: "7" }],
    { tx, afterErasure: "anew" },
  );
  // @ts-expect-error there is no such category
  void erasure.rectifySubject("u-1", [{ category: "shoe-size", value: 44 }], [], { tx });
  // @ts-expect-error not a transaction of this database
  void erasure.eraseSubject("u-1", [], { tx: "tx" });
  // @ts-expect-error an erasure is written in the caller's transaction
  void erasure.eraseSubject("u-1", []);
});

it("[E-08] an Amends is named by its transactions alone, whatever its data map", () => {
  const amends = new Amends({ database, erasure: { dataMap: map } });
  expectTypeOf(amends).toEqualTypeOf<Amends<Tx, "email" | "name">>();
  const plain: Amends<Tx> = amends;
  const any: Amends = amends;
  expectTypeOf(plain.erasure).toEqualTypeOf<Erasure<Tx>>();
  expectTypeOf(any).toEqualTypeOf<Amends>();
  expectTypeOf(new Amends({ database })).toEqualTypeOf<Amends<Tx>>();
});
