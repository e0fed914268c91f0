/** A checkpoint on its way into the database: an item of a flush that is itself told what became of it. */
import type { Submission } from "../../storage/write/group-writer.ts";
import type { Item } from "./flush.ts";
import type { Checkpoint } from "./journal.ts";

export class SentCheckpoint implements Submission<Item, boolean> {
  readonly checkpoint: Checkpoint;
  readonly #submission: Submission<Checkpoint, boolean>;

  constructor(submission: Submission<Checkpoint, boolean>) {
    this.checkpoint = submission.item;
    this.#submission = submission;
  }

  get item(): Item {
    return this;
  }

  written(isWritten: boolean): void {
    this.#submission.written(isWritten);
  }

  failed(error: unknown): void {
    this.#submission.failed(error);
  }
}
