/** Tables that fit the width. Columns that may shrink are truncated; without a terminal nothing is truncated. */
import { type Ink, joined, paint } from "./ink.ts";

export interface Column {
  readonly title: string;
  readonly right?: boolean;
  /**
   * The column may be truncated to this many characters. Other columns are never truncated: a truncated id is useless.
   */
  readonly least?: number;
}

const GAP = 2;

export function grid(
  columns: readonly Column[],
  rows: readonly (readonly Ink[])[],
  width: number | undefined,
): readonly Ink[] {
  const titles = columns.map(({ title }) => paint("dim", title));
  const natural = columns.map((_, index) =>
    Math.max(...[titles, ...rows].map((cells) => cells[index]?.width ?? 0)),
  );
  const widths = width === undefined ? natural : narrowed(columns, natural, width);
  return [titles, ...rows].map((cells) => lineOf(columns, cells, widths));
}

/** Takes from the widest of those that may give way until all fit, or none can. */
function narrowed(columns: readonly Column[], natural: readonly number[], width: number): readonly number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, one) => sum + one, 0) + GAP * (columns.length - 1) - width;
  while (over > 0) {
    const spare = widths.map((one, index) => one - (columns[index]?.least ?? one));
    const widest = Math.max(...spare);
    if (widest <= 0) break;
    widths[spare.indexOf(widest)]! -= 1;
    over -= 1;
  }
  return widths;
}

function lineOf(columns: readonly Column[], cells: readonly Ink[], widths: readonly number[]): Ink {
  const sized = cells.map((cell, index) => {
    const isLast = index === cells.length - 1;
    const width = widths[index] as number;
    // Nothing stands behind the last one: it needs no filling up.
    return isLast && columns[index]?.right !== true && cell.width <= width
      ? cell
      : cell.sized(width, columns[index]?.right);
  });
  return joined(sized, " ".repeat(GAP));
}
