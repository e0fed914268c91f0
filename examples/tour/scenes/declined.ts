/** A declined card: the steps before it are rolled back. */
import { playOrder, type Scene } from "../stage.ts";

export const declined: Scene = async (stage, number) => {
  const { screen, outside } = stage;
  screen.scene(number, "A declined order is rolled back");
  screen.say(
    'The card is good for 100 €, the order costs 250 €. The step answers err("card-declined"), so the steps before it are undone, last one first.',
  );
  screen.gap();
  const before = outside.orders.stock.get("coffee");
  await playOrder(stage, { customer: "u-ben", sku: "coffee", cents: 25_000, address: "Oslo" });
  const after = outside.orders.stock.get("coffee");
  screen.gap();
  screen.say(
    `FAILED means that every effect was undone. The warehouse agrees: ${before} coffees before, ${after} after.`,
  );
  screen.link("see", stage.door.page("sagas/o-1004"));
};
