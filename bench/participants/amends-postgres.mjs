import { postgres } from "../../dist/postgres.js";
import { migrate, openAmends } from "./amends.mjs";

export const prepare = ({ url }) => migrate(postgres({ url }));

export const open = ({ url, lanes }) => openAmends(postgres({ url }), lanes);
