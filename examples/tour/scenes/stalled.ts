/** An undo that fails: the order stalls, and waits for a person. */
import { playOrder, type Scene } from "../stage.ts";

export const stalled: Scene = async (stage, number) => {
  const { screen, outside } = stage;
  screen.scene(number, "An order whose undo fails");
  screen.say(
    "No courier goes to the moon, so a paid order must be refunded. Just now there are no refunds: the undo is tried three times, then the saga stalls. One undo that fails does not stop the others.",
  );
  screen.gap();
  outside.down.add("refunds");
  await playOrder(stage, { customer: "u-gus", sku: "tea", cents: 3_100, address: "the moon" });
};
