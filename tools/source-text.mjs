/**
 * Just enough reading of TypeScript to find its imports: a scanner that knows comments, strings and templates.
 * TypeScript 7 offers no parser to JavaScript yet, and the checkers that need one do not run on it.
 */

/** @typedef {{ specifier: string, line: number, typeOnly: boolean }} Import */

/**
 * Comments and the insides of strings become spaces; offsets and lines stay as they were. Code inside a
 * template's `${…}` is kept.
 * @param {string} text
 * @param {{ strings?: boolean }} [keep] strings: true leaves plain strings readable
 */
export function blank(text, { strings = false } = {}) {
  let out = "";
  let at = 0;
  /** @type {number[]} how many braces are open in each `${…}` around here */
  const templates = [];
  /** @param {number} to @param {boolean} visible */
  const take = (to, visible) => {
    const part = text.slice(at, to);
    out += visible ? part : part.replace(/[^\n]/g, " ");
    at = to;
  };
  /** Goes on to the end of a template's text: its closing quote, or the next `${`. */
  const template = () => {
    let end = at;
    while (end < text.length && text[end] !== "`" && !text.startsWith("${", end))
      end += text[end] === "\\" ? 2 : 1;
    take(end, false);
    if (text.startsWith("${", at)) {
      templates.push(0);
      take(at + 2, true);
    } else take(at + 1, true);
  };
  while (at < text.length) {
    const char = /** @type {string} */ (text[at]);
    const depth = templates.at(-1);
    if (text.startsWith("//", at)) take(endOf(text, "\n", at), false);
    else if (text.startsWith("/*", at)) take(Math.min(text.length, endOf(text, "*/", at + 2) + 2), false);
    else if (char === '"' || char === "'") {
      let end = at + 1;
      while (end < text.length && text[end] !== char && text[end] !== "\n") end += text[end] === "\\" ? 2 : 1;
      take(at + 1, true);
      take(end, strings);
      if (text[at] === char) take(at + 1, true);
    } else if (char === "`") {
      take(at + 1, true);
      template();
    } else if (char === "/" && startsRegex(out)) take(endOfRegex(text, at), false);
    else if (depth !== undefined && char === "}" && depth === 0) {
      templates.pop();
      take(at + 1, true);
      template();
    } else {
      if (depth !== undefined && char === "{") templates[templates.length - 1] = depth + 1;
      if (depth !== undefined && char === "}") templates[templates.length - 1] = depth - 1;
      take(at + 1, true);
    }
  }
  return out;
}

/** @param {string} text @param {string} what @param {number} from */
function endOf(text, what, from) {
  const end = text.indexOf(what, from);
  return end === -1 ? text.length : end;
}

/**
 * A slash begins a regular expression where a value may begin.
 * @param {string} before
 */
function startsRegex(before) {
  return /(?:^|[=(,:;!&|?{}[+\-*%<>~^\n]|\b(?:return|typeof|case|in|of|void|throw|yield|await))\s*$/.test(
    before.slice(-40),
  );
}

/** @param {string} text @param {number} from */
function endOfRegex(text, from) {
  let inClass = false;
  for (let at = from + 1; at < text.length && text[at] !== "\n"; at++) {
    const char = text[at];
    if (char === "\\") at++;
    else if (char === "[") inClass = true;
    else if (char === "]") inClass = false;
    else if (char === "/" && !inClass) return at + 1;
  }
  return from + 1;
}

const statements =
  /\b(?:import|export)\s+(type\s+(?!from\b|,))?(?:[\w$*\s{},]|\bas\b)*?\bfrom\s*["']([^"'\n]+)["']|\bimport\s*["']([^"'\n]+)["']|\bimport\s*\(\s*["']([^"'\n]+)["']/g;

/**
 * Every module that the text names in an import, an export from, or an import().
 * @param {string} text
 * @returns {Import[]}
 */
export function importsOf(text) {
  const readable = blank(text, { strings: true });
  const code = blank(text);
  return [...readable.matchAll(statements)]
    .filter((match) => /^(?:import|export)\b/.test(code.slice(match.index)))
    .map((match) => ({
      specifier: /** @type {string} */ (match[2] ?? match[3] ?? match[4]),
      line: readable.slice(0, match.index).split("\n").length,
      typeOnly: match[1] !== undefined,
    }));
}
