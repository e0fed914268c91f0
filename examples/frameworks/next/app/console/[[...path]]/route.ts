import { createConsole } from "amends/console";
import { amends } from "../../../lib/shop.ts";

const con = createConsole(amends, {
  path: "/console",
  // Read at the first request: the build has no tokens.
  tokens: () => [{ name: "ann", roles: ["operate"], token: process.env.CONSOLE_TOKEN ?? "" }],
});

export const GET = con.fetch;
export const POST = con.fetch;
export const DELETE = con.fetch;
