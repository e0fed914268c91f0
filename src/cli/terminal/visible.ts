/**
 * Stored text may contain control characters that a terminal obeys: move the cursor, change the title, paste.
 * Characters that do not print as themselves are therefore escaped. All output to a terminal passes through this file.
 */
const UNPRINTABLE: RegExp =
  /[\p{Cc}\p{Cs}\p{Co}\p{Zl}\p{Zp}\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

export function visible(text: string): string {
  return text.replaceAll(UNPRINTABLE, written);
}

function written(character: string): string {
  switch (character) {
    case "\n":
      return "\\n";
    case "\r":
      return "\\r";
    case "\t":
      return "\\t";
    default:
  }
  const code = character.codePointAt(0) as number;
  if (code <= 0xff) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\u{${code.toString(16)}}`;
}

/** JSON that a terminal shows as well: what JSON leaves as it is, and a terminal might obey, is escaped the JSON way. */
export function visibleJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? "null";
  // Line ends of our own indentation are no part of a value: inside a value JSON has escaped them.
  return text.replaceAll(UNPRINTABLE, (character) =>
    character === "\n"
      ? character
      : Array.from({ length: character.length }, (_, at) => unit(character.charCodeAt(at))).join(""),
  );
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}

const segments = new Intl.Segmenter("en", { granularity: "grapheme" });
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u;

/** How many columns a visible text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segments.segment(text)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** Cut off so that it fits, with a sign that it was. */
export function fit(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let kept = "";
  let taken = 1;
  for (const { segment } of segments.segment(text)) {
    taken += widthOf(segment);
    if (taken > width) break;
    kept += segment;
  }
  return width > 0 ? `${kept}…` : "";
}
