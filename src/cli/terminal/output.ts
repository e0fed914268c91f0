/** Where a command writes: lines for people, or one JSON document, or one JSON text per line. */
import { grid, type Column } from "./grid.ts";
import { Ink, ink, nothing, paint } from "./ink.ts";
import { visibleJson } from "./visible.ts";
import type { World } from "../program/world.ts";

export class Output {
  readonly #world: World;
  /** Programs read it: nothing but JSON goes to standard output. */
  readonly isJson: boolean;

  constructor(world: World, isJson: boolean) {
    this.#world = world;
    this.isJson = isJson;
  }

  get width(): number | undefined {
    return this.#world.terminal?.columns;
  }

  say(line: Ink = nothing): void {
    if (!this.isJson) this.#world.out(`${this.#render(line)}\n`);
  }

  table(columns: readonly Column[], rows: readonly (readonly Ink[])[], indent: string = ""): void {
    const width = this.width === undefined ? undefined : this.width - indent.length;
    for (const line of grid(columns, rows, width))
      this.say(new Ink([...ink`${indent}`.pieces, ...line.pieces]));
  }

  /** One document, for a command with one answer. */
  document(value: unknown): void {
    if (this.isJson) this.#world.out(`${visibleJson(value, 2)}\n`);
  }

  /** One line, for a command that goes on. */
  event(value: unknown): void {
    if (this.isJson) this.#world.out(`${visibleJson(value)}\n`);
  }

  /** What is no part of the answer: progress, advice. */
  note(line: Ink): void {
    this.#world.err(`${this.#render(line)}\n`);
  }

  /** Prints progress, on a terminal only. */
  async progress<T>(title: string, work: () => Promise<T>): Promise<T> {
    const { terminal } = this.#world;
    if (!terminal || this.isJson) return work();
    const began = this.#world.nowMs();
    const draw = (): void => {
      const seconds = ((this.#world.nowMs() - began) / 1_000).toFixed(1);
      this.#world.err(`\r${this.#render(paint("dim", `${title} … ${seconds} s`))}\u001b[K`);
    };
    const timer = setInterval(draw, PROGRESS_MS);
    try {
      return await work();
    } finally {
      clearInterval(timer);
      this.#world.err("\r\u001b[K");
    }
  }

  #render(line: Ink): string {
    return line.render(this.#world.terminal?.colours ?? false);
  }
}

const PROGRESS_MS = 250;
