import { expect, expectTypeOf, it } from "vitest";
import { err, isErr, isOk, ok, type Err, type Ok } from "../../src/core/result.ts";

it("[K-15] ok and err are told apart from each other and from everything that only looks like them", () => {
  expect([isOk(ok(1)), isErr(ok(1)), isOk(err("no")), isErr(err("no"))]).toEqual([true, false, false, true]);
  for (const other of [{ ok: true, value: 1 }, { error: "no" }, null, undefined, 1, "ok", [], () => 1]) {
    expect([isOk(other), isErr(other)]).toEqual([false, false]);
  }
});

it("[K-15] they carry what they were given, typed", () => {
  expect(ok({ id: 7 }).value).toEqual({ id: 7 });
  expect(ok().value).toBeUndefined();
  expect(err("card-declined").error).toBe("card-declined");
  expectTypeOf(ok({ id: 7 })).toExtend<Ok<{ readonly id: 7 }>>();
  expectTypeOf(err("no")).toEqualTypeOf<Err<"no">>();
});

it("[K-15] they mean the same across two copies of the package", () => {
  const foreign = { [Symbol.for("amends.result")]: "err", error: "no" };
  expect(isErr(foreign)).toBe(true);
});
