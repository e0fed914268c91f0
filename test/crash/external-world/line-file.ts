/**
 * A file with one line of JSON per record, which no rollback can remove. Every process appends to the same file, one
 * short line at a time, so that the order of the lines is the order of events.
 */
import { closeSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";

export class LineFile<Line> {
  readonly file: string;
  #handle: number | undefined;

  constructor(file: string) {
    this.file = file;
  }

  /** Synchronous, in append mode: the line stays if the process dies right after. */
  append(line: Line): void {
    this.#handle ??= openSync(this.file, "a");
    writeSync(this.#handle, `${JSON.stringify(line)}\n`);
  }

  read(): readonly Line[] {
    if (!existsSync(this.file)) return [];
    const lines = readFileSync(this.file, "utf8").split("\n");
    return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Line);
  }

  close(): void {
    if (this.#handle !== undefined) closeSync(this.#handle);
    this.#handle = undefined;
  }
}
