/** What the story has left for a person, and where. */
import type { Scene } from "../stage.ts";
import { sentenceOf, waiting } from "./waiting.ts";

export const yourTurn: Scene = async (stage, number) => {
  const { screen, door } = stage;
  screen.scene(number, "Your turn");
  screen.say(
    "Everything else has finished by itself. These need a person. Open the console, choose Attention, and mend them: each says what it needs, and each action asks for a reason.",
  );
  screen.gap();
  for (const item of await waiting(stage)) screen.fact(item.what, sentenceOf(item));
  screen.gap();
  screen.link("console", door.signInUrl);
  screen.gap();
  screen.say(
    "The newsletter, the refunds and the warehouse in the east are still down. They come back in a moment; this window says when. Ctrl-C ends the tour.",
  );
};
