import { sqlite } from "../../dist/sqlite.js";
import { migrate, openAmends } from "./amends.mjs";

export async function open({ file, lanes }) {
  await migrate(sqlite(file));
  return openAmends(sqlite(file), lanes);
}
