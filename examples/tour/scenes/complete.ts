/** Orders that complete. */
import { playOrder, type Scene } from "../stage.ts";

export const complete: Scene = async (stage, number) => {
  const { screen } = stage;
  screen.scene(number, "Orders that complete");
  screen.say(
    "A saga is a list of steps. Each one is durable in the database before the next one begins. The order, its saga and the webhook about it are one commit.",
  );
  screen.gap();
  await playOrder(stage, { customer: "u-ann", sku: "tea", cents: 1_200, address: "Lisbon" });
  await playOrder(stage, { customer: "u-ben", sku: "coffee", cents: 900, address: "Oslo" });
  await playOrder(stage, { customer: "u-cleo", sku: "tea", cents: 450, address: "Kyoto" });
  screen.link("see", stage.door.page("sagas"));
};
