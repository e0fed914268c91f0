import { err, saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { SagaDetail } from "../../src/console/contract.ts";
import { onEachDatabase } from "../support/databases.ts";
import { visit } from "./support/visit.ts";

onEachDatabase((database) => {
  it("[S-24][P-04] steps of a group stand beside each other in the picture, and the way back begins behind them", async () => {
    const act = async (): Promise<number> => 1;
    const trip = saga("trip", z.object({}))
      .step("quote", { act, compensate: act })
      .parallel("bookings", (group) =>
        group
          .step("flight", { act, compensate: act })
          .step("hotel", { act: () => err("full") })
          .step("car", { act, compensate: act }),
      )
      .step("mail", { act });
    const amends = await database.amends({ sagas: [trip] });
    await database.worker(amends);
    await (await amends.start(trip, {}, { id: "t-1" })).result();
    const { get } = visit(amends);
    const { graph, steps, mermaid } = await get<SagaDetail>("reader", "/api/sagas/t-1");
    expect(steps.map(({ name }) => name)).toEqual(["quote", "flight", "hotel", "car", "mail"]);
    expect(graph.nodes.filter(({ group }) => group === "bookings").map(({ id }) => id)).toEqual([
      "act:flight",
      "act:hotel",
      "act:car",
      "undo:flight",
      "undo:car",
    ]);
    const ways = graph.edges.map(({ from, to, kind, taken }) => `${from} > ${to} ${kind} ${taken}`);
    expect(ways).toEqual([
      "start > act:quote forward true",
      "act:quote > act:flight forward true",
      "act:quote > act:hotel forward true",
      "act:quote > act:car forward true",
      "act:flight > act:mail forward false",
      "act:hotel > act:mail forward false",
      "act:car > act:mail forward false",
      "act:mail > completed forward false",
      "act:quote > undo:quote turn false",
      "act:flight > undo:car turn false",
      "act:hotel > undo:car turn false",
      "act:car > undo:car turn true",
      "act:mail > undo:car turn false",
      "undo:car > undo:flight back true",
      "undo:flight > undo:quote back true",
      "undo:quote > failed back true",
    ]);
    expect(mermaid.sequence).toContain("act hotel");
  });
});
