/** Amends in the transactions of other clients: the checks of conformance.ts, on each client. */
import { expect, it } from "vitest";
import { describeOn } from "../support/databases.ts";
import { CHECKS } from "./conformance.ts";
import { CLIENTS } from "./list.ts";

const isWhole = process.env["AMENDS_CLIENTS"] === "1";
const checks = CHECKS.filter(({ brief }) => isWhole || brief === true);

describeOn("postgres", () => {
  for (const client of CLIENTS)
    for (const { title, run } of checks) {
      it(`${title}: ${client.name}`, async () => {
        await run(client);
        expect.hasAssertions();
      });
    }
});
