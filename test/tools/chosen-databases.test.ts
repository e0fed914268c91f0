import { expect, it } from "vitest";
import { readChoice } from "../setup/chosen-databases.ts";

it("AMENDS_DATABASES names the databases of a run, all of them by default", () => {
  expect(readChoice(undefined)).toEqual(["postgres", "sqlite"]);
  expect(readChoice("")).toEqual(["postgres", "sqlite"]);
  expect(readChoice("sqlite")).toEqual(["sqlite"]);
  expect(readChoice("sqlite, postgres")).toEqual(["postgres", "sqlite"]);
});

it("a name that is no database is refused, so that no run silently tests less", () => {
  expect(() => readChoice("sqlit")).toThrow(
    "AMENDS_DATABASES names sqlit. Use postgres, sqlite or both with a comma between them.",
  );
});
