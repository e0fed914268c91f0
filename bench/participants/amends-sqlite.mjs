import { sqlite } from "../../dist/sqlite.js";
import { openAmends } from "./amends.mjs";

export const open = ({ file, lanes }) => openAmends(sqlite(file), lanes);
