import { expect, it } from "vitest";
import { refusal, whatWasSaid } from "../../src/storage/refusal.ts";

function said(code: "DATABASE_FORBIDDEN" | "DATABASE_REFUSED", cause: object): readonly string[] {
  const error = refusal({ dialect: { name: "postgres" } }, code, cause);
  return [whatWasSaid(error).state, whatWasSaid(error).said, error.message];
}

it("[K-16] a report of the database's words names tables and rights, and never the value of a row", () => {
  const denied = { code: "42501", message: "permission denied for table saga_logs" };
  expect(said("DATABASE_FORBIDDEN", denied).slice(0, 2)).toEqual([
    "42501",
    "permission denied for table saga_logs",
  ]);
  const duplicate = { code: "23505", message: "Key (email)=(ann@example.com) already exists." };
  expect(said("DATABASE_REFUSED", duplicate).join(" ")).not.toContain("ann@example.com");
  const missing = { errcode: 1, message: "no such table: amends_saga_logs" };
  expect(said("DATABASE_FORBIDDEN", missing).slice(0, 2)).toEqual([
    "SQLITE_1",
    "no such table: amends_saga_logs",
  ]);
  const unique = { errcode: 2067, message: "the row of ann@example.com is not unique" };
  expect(said("DATABASE_REFUSED", unique).join(" ")).not.toContain("ann@example.com");
});
