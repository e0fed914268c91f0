import { postgres } from "../../dist/postgres.js";
import { openAmends } from "./amends.mjs";

export const open = ({ url, lanes }) => openAmends(postgres({ url }), lanes);
