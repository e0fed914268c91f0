import { stripVTControlCharacters } from "node:util";
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { cli } from "./support/cli.ts";

onEachDatabase((database) => {
  it("[S-24][P-03] a saga is shown with the steps that act at the same time in brackets, each with its own bar", async () => {
    const act = async (): Promise<number> => 1;
    const trip = saga("trip", z.object({}))
      .step("quote", { act })
      .parallel("bookings", (group) => group.step("flight", { act }).step("hotel", { act }))
      .parallel("news", (group) => group.step("mail", { act }));
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    await (await amends.start(trip, {}, { id: "t-1" })).result();
    await amends.close();
    const { out } = await cli(["show", "t-1", "--database", await database.place()]);
    const text = stripVTControlCharacters(out);
    expect(text).toContain("quote → bookings (flight, hotel) → news (mail)");
    for (const name of ["flight", "hotel", "mail"]) expect(text).toMatch(new RegExp(`^ +${name} .*█`, "m"));
  });
});
