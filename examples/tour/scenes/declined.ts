/** A card that is declined: what was done before is taken back. */
import { euros, playOrder, type Stage } from "../stage.ts";

export async function declined(stage: Stage): Promise<void> {
  const { screen, shop } = stage;
  screen.scene(2, "An order that is declined, and undone");
  screen.say(
    `The card is good for 100 €, the order costs ${euros(25_000)}. The step answers err("card-declined"), so the steps before it are undone, last one first.`,
  );
  screen.gap();
  const before = shop.read().stock["coffee"];
  await playOrder(stage, { sku: "coffee", cents: 25_000, address: "Oslo" });
  const after = shop.read().stock["coffee"];
  screen.gap();
  screen.say(
    `FAILED is said only when everything that may have happened has been undone. The warehouse agrees: ${before} coffees before, ${after} after.`,
  );
}
