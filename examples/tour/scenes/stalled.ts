/** An undo that fails: the order stalls, and needs an operator. */
import { playOrder, type Scene } from "../stage.ts";

export const stalled: Scene = async (stage, number) => {
  const { screen, outside } = stage;
  screen.scene(number, "An order whose undo fails");
  screen.say(
    "No courier goes to the moon, so a paid order must be refunded. Refunds are unavailable: after 3 attempts the undo has failed, and the saga stalls. A failed undo does not stop the others.",
  );
  screen.gap();
  outside.down.add("refunds");
  const outcome = await playOrder(stage, {
    customer: "u-gus",
    sku: "tea",
    cents: 3_100,
    address: "the moon",
  });
  screen.link("see", stage.door.page(`sagas/${outcome.id}`));
};
