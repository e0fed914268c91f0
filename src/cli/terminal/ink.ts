/**
 * Text for a terminal. Only literal text is printed unchanged: control characters in every interpolated value are
 * escaped, so that no command can forget it. Colours are added later, if there is a terminal.
 */
import { fit, visible, widthOf } from "./visible.ts";

const CODES = {
  bold: 1,
  dim: 2,
  red: 31,
  green: 32,
  yellow: 33,
  blue: 34,
  magenta: 35,
  cyan: 36,
} as const;

export type Colour = keyof typeof CODES;

interface Item {
  readonly text: string;
  readonly colour: Colour | undefined;
}

export class Ink {
  readonly pieces: readonly Item[];

  constructor(pieces: readonly Item[]) {
    this.pieces = pieces;
  }

  get width(): number {
    return this.pieces.reduce((sum, { text }) => sum + widthOf(text), 0);
  }

  /** Cut off where it is too long, filled up where it is too short. */
  sized(width: number, right: boolean = false): Ink {
    const missing = width - this.width;
    if (missing < 0) return this.#cut(width);
    const space: Item = { text: " ".repeat(missing), colour: undefined };
    return new Ink(right ? [space, ...this.pieces] : [...this.pieces, space]);
  }

  #cut(width: number): Ink {
    const pieces: Item[] = [];
    let left = width;
    for (const { text, colour } of this.pieces) {
      const cut = fit(text, left);
      pieces.push({ text: cut, colour });
      left -= widthOf(cut);
      if (cut !== text) break;
    }
    return new Ink(pieces);
  }

  render(colours: boolean): string {
    const painted = this.pieces.map(({ text, colour }) =>
      colours && colour !== undefined && text !== "" ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text,
    );
    return painted.join("");
  }
}

export type Value = string | number | Ink;

/** Our own words with values between them. */
export function ink(words: TemplateStringsArray, ...values: readonly Value[]): Ink {
  const pieces = words.flatMap((word, index): Item[] => {
    const value = values[index];
    const own = { text: word, colour: undefined };
    return value === undefined ? [own] : [own, ...piecesOf(value)];
  });
  return new Ink(pieces);
}

/** A value in a colour; undefined leaves it as it is. */
export function paint(colour: Colour | undefined, value: Value): Ink {
  const pieces = piecesOf(value);
  return new Ink(colour === undefined ? pieces : pieces.map(({ text }) => ({ text, colour })));
}

function piecesOf(value: Value): readonly Item[] {
  if (value instanceof Ink) return value.pieces;
  return [{ text: visible(String(value)), colour: undefined }];
}

export function joined(values: readonly Value[], between: string): Ink {
  const pieces = values.flatMap((value, index) => [
    ...(index === 0 ? [] : [{ text: between, colour: undefined }]),
    ...piecesOf(value),
  ]);
  return new Ink(pieces);
}

export const nothing: Ink = new Ink([]);
