/** Ticks the tasks off in the terminal while they are done in the console. */
import { openItems, tasksOf, type Task } from "./scenes/tasks.ts";
import type { Stage } from "./stage.ts";

export class TaskList {
  readonly #stage: Stage;
  readonly #done = new Set<Task>();

  constructor(stage: Stage) {
    this.#stage = stage;
  }

  /** Looks at the attention list once, and says what has changed since the last look. */
  async update(): Promise<void> {
    const stage = this.#stage;
    if (stage.tasks.length === 0) await this.#begin();
    const open = await openItems(stage);
    for (const task of stage.tasks) {
      const isDone = !task.items.some((item) => open.has(item));
      if (isDone === this.#done.has(task)) continue;
      if (isDone) this.#done.add(task);
      else this.#done.delete(task);
      const { screen, tasks } = stage;
      screen.say(
        isDone
          ? `✓ task ${task.number} is done: ${task.name} (${this.#done.size} of ${tasks.length})`
          : `✗ task ${task.number} is open again: ${task.name}`,
      );
    }
    if (this.#done.size === stage.tasks.length) stage.tasks = [];
  }

  /** A new round: what is open now. */
  async #begin(): Promise<void> {
    const stage = this.#stage;
    this.#done.clear();
    stage.tasks = await tasksOf(stage);
    for (const { number, name, button } of stage.tasks)
      stage.screen.fact(`task ${number}`, `${name} → ${button}`);
  }
}
