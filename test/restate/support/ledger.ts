/** What the steps of a story did, in a file that survives its process. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";

export class Ledger {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  write(saga: string, effect: string): void {
    appendFileSync(this.#file, `${saga} ${effect}\n`);
  }

  /** The effects of one saga, in their order. */
  of(saga: string): readonly string[] {
    if (!existsSync(this.#file)) return [];
    const lines = readFileSync(this.#file, "utf8").split("\n");
    return lines.filter((line) => line.startsWith(`${saga} `)).map((line) => line.slice(saga.length + 1));
  }

  count(saga: string, effect: string): number {
    return this.of(saga).filter((one) => one === effect).length;
  }
}
