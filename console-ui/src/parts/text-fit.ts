/** Texts in an SVG do not clip by themselves: they are measured in the font of the page, and cut to fit. */

let canvas: CanvasRenderingContext2D | null | undefined;
const widths = new Map<string, number>();
const WIDTHS_MAX = 2_000;

function widthOf(text: string, font: string): number {
  canvas ??= document.createElement("canvas").getContext("2d");
  if (!canvas) return text.length * 7.2;
  const family = getComputedStyle(document.body).fontFamily;
  canvas.font = `${font} ${family}`;
  return canvas.measureText(text).width;
}

function measured(text: string, font: string): number {
  const key = `${font} ${text}`;
  const known = widths.get(key);
  if (known !== undefined) return known;
  if (widths.size > WIDTHS_MAX) widths.clear();
  const width = widthOf(text, font);
  widths.set(key, width);
  return width;
}

/** The text, or its longest beginning with an ellipsis that is at most this wide. `font` is weight and size. */
export function fit(text: string, width: number, font: string): string {
  if (measured(text, font) <= width) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measured(`${text.slice(0, middle)}…`, font) <= width) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}
