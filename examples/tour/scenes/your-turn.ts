/** What the story leaves to an operator, as numbered tasks. */
import type { Scene } from "../stage.ts";
import { tasksOf } from "./tasks.ts";

export const yourTurn: Scene = async (stage, number) => {
  const { screen, door } = stage;
  const tasks = await tasksOf(stage);
  stage.tasks = tasks;
  screen.scene(number, "Your turn");
  screen.say(
    `Everything else has finished by itself. ${tasks.length} tasks need an operator. Open the console, choose Attention, and press the button that is named here: each action asks for a reason.`,
  );
  screen.gap();
  for (const task of tasks) {
    screen.fact(`task ${task.number}`, `${task.name}: ${task.problem}`);
    screen.fact("", `→ ${task.button} (${task.why})`);
    screen.link("", door.page(task.path));
  }
  screen.gap();
  screen.link("console", door.signInUrl);
  screen.gap();
  screen.say(
    "The newsletter, the refunds and the warehouse in the east are still down. They come back in a moment; this window says when, and ticks off what you have done. Ctrl-C ends the tour.",
  );
};
