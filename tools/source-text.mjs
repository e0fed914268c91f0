/**
 * Reads TypeScript as text: a scanner that knows comments, strings, templates, regular expressions and JSX, and what
 * the checks need on top of it. TypeScript 7 offers no parser to JavaScript, and the checkers that need one do not run
 * on it.
 */

/**
 * A stretch of text that is not code. A comment and a regular expression include their delimiters; a string, a
 * template's text and the text between JSX tags ("markup") do not. `tag` is the tag of a tagged template.
 * @typedef {{ kind: "comment" | "string" | "template" | "regex" | "markup", start: number, end: number, tag?: string }} Part
 * @typedef {{ name: string, as: string, typeOnly: boolean }} ImportedName
 * @typedef {{ specifier: string, line: number, typeOnly: boolean, exported: boolean, names: ImportedName[] }} Import
 */

/**
 * Every stretch that is not code, in the order of the text. The code inside `${…}` is code.
 * @param {string} text
 * @param {{ jsx?: boolean }} [language]
 * @returns {Part[]}
 */
export function partsOf(text, { jsx = false } = {}) {
  /** @type {Part[]} */
  const parts = [];
  const plain = /[^"'`/{}<]+/y;
  let at = 0;

  /** @param {Part["kind"]} kind @param {number} start @param {string} [tag] */
  const add = (kind, start, tag) => {
    at = Math.min(at, text.length);
    if (at > start) parts.push({ kind, start, end: at, ...(tag !== undefined && { tag }) });
  };

  /** @param {boolean} nested true: up to the brace that closes what the caller opened */
  function code(nested) {
    for (let depth = 0; at < text.length;) {
      plain.lastIndex = at;
      if (plain.test(text)) at = plain.lastIndex;
      else if (isComment()) comment();
      else {
        const char = text[at];
        if (char === '"' || char === "'") string(char, false);
        else if (char === "`") template();
        else if (char === "/" && beginsValue(text, at, parts)) {
          const start = at;
          at = endOfRegex(text, at);
          if (at > start + 1) add("regex", start);
        } else if (jsx && char === "<" && beginsElement(text, at, parts)) element();
        else if (nested && char === "}" && depth === 0) return;
        else {
          if (char === "{") depth++;
          if (char === "}") depth--;
          at++;
        }
      }
    }
  }

  function isComment() {
    return text.startsWith("//", at) || text.startsWith("/*", at);
  }

  function comment() {
    const start = at;
    at = text[at + 1] === "/" ? indexAfter(text, "\n", at, 0) : indexAfter(text, "*/", at + 2, 2);
    add("comment", start);
  }

  /** @param {string} quote @param {boolean} attribute true: it may span lines, and knows no escapes */
  function string(quote, attribute) {
    const start = ++at;
    while (at < text.length && text[at] !== quote && (attribute || text[at] !== "\n"))
      at += !attribute && text[at] === "\\" ? 2 : 1;
    add("string", start);
    if (text[at] === quote) at++;
  }

  function template() {
    const tag = /([\w$.]+)(?:<[^<>`]*>)?$/.exec(text.slice(Math.max(0, at - 80), at))?.[1];
    for (at++; at < text.length;) {
      const start = at;
      while (at < text.length && text[at] !== "`" && !text.startsWith("${", at))
        at += text[at] === "\\" ? 2 : 1;
      add("template", start, tag);
      if (text[at] !== "$") break;
      braces(2);
    }
    at++;
  }

  /** @param {number} opening how many characters open it */
  function braces(opening) {
    at += opening;
    code(true);
    at++;
  }

  function element() {
    at = typeArgumentsEnd(text, at + 1 + (/^[\w$.:-]*/.exec(text.slice(at + 1, at + 80))?.[0].length ?? 0));
    while (at < text.length && text[at] !== ">") {
      const char = text[at];
      if (text.startsWith("/>", at)) {
        at += 2;
        return;
      }
      if (isComment()) comment();
      else if (char === '"' || char === "'") string(char, true);
      else if (char === "{") braces(1);
      else at++;
    }
    at++;
    while (at < text.length) {
      const start = at;
      while (at < text.length && text[at] !== "<" && text[at] !== "{") at++;
      add("markup", start);
      if (text[at] === "{") braces(1);
      else if (text.startsWith("</", at)) {
        at = indexAfter(text, ">", at, 1);
        return;
      } else if (text[at] === "<") element();
    }
  }

  code(false);
  return parts;
}

/** @param {string} text @param {string} what @param {number} from @param {number} length what of it belongs to the part */
function indexAfter(text, what, from, length) {
  const found = text.indexOf(what, from);
  return found === -1 ? text.length : found + length;
}

/**
 * True where a value may begin, so that a slash is not a division and "<" not a comparison.
 * @param {string} text
 * @param {number} at
 * @param {Part[]} parts those before `at`
 */
function beginsValue(text, at, parts) {
  let end = at;
  for (let index = parts.length - 1; ; index--) {
    while (end > 0 && /\s/.test(/** @type {string} */ (text[end - 1]))) end--;
    const part = parts[index];
    if (part?.kind !== "comment" || part.end !== end) break;
    end = part.start;
  }
  const before = text.slice(Math.max(0, end - 12), end);
  if (/(?:\+\+|--)$/.test(before)) return false;
  return /(?:^|[=(,:;!&|?{}[+\-*%<>~^]|(?:^|[^\w$.])(?:return|typeof|case|in|of|void|throw|yield|await|delete|else|do|new))$/.test(
    before,
  );
}

/** @param {string} text @param {number} at @param {Part[]} parts */
function beginsElement(text, at, parts) {
  const ahead = text.slice(at, at + 80);
  return /^<[A-Za-z_>]/.test(ahead) && !/^<\w+(?:,|\s+extends\b)/.test(ahead) && beginsValue(text, at, parts);
}

/** @param {string} text @param {number} from */
function typeArgumentsEnd(text, from) {
  if (text[from] !== "<") return from;
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "<") depth++;
    if (text[at] === ">" && text[at - 1] !== "=" && --depth === 0) return at + 1;
  }
  return text.length;
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

/**
 * Comments, regular expressions and the insides of strings and templates become spaces; offsets and lines stay as they
 * were.
 * @param {string} text
 * @param {{ strings?: boolean, jsx?: boolean, parts?: Part[] }} [options] strings: true leaves plain strings readable
 */
export function blank(text, { strings = false, jsx = false, parts = partsOf(text, { jsx }) } = {}) {
  let out = "";
  let at = 0;
  for (const { kind, start, end } of parts) {
    if (strings && kind === "string") continue;
    out += text.slice(at, start) + text.slice(start, end).replace(/[^\n]/g, " ");
    at = end;
  }
  return out + text.slice(at);
}

/** @param {string} text @param {number} index */
export function lineAt(text, index) {
  let line = 1;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) line++;
  return line;
}

const statements =
  /\b(?:import|export)\s+(type\s+(?!from\b|,))?((?:[\w$*\s{},]|\bas\b)*?)\bfrom\s*["']([^"'\n]+)["']|\bimport\s*["']([^"'\n]+)["']|\bimport\s*\(\s*["']([^"'\n]+)["']/g;

/**
 * Every module that the text names in an import, an export from, or an import(), with the names that it takes: "*" for
 * all of them, "default" for the default export.
 * @param {string} text
 * @param {Part[]} [parts]
 * @returns {Import[]}
 */
export function importsOf(text, parts = partsOf(text)) {
  const readable = blank(text, { strings: true, parts });
  const code = blank(text, { parts });
  return [...readable.matchAll(statements)]
    .filter((match) => /^(?:import|export)\b/.test(code.slice(match.index, match.index + 7)))
    .map((match) => ({
      specifier: /** @type {string} */ (match[3] ?? match[4] ?? match[5]),
      line: lineAt(text, match.index),
      typeOnly: match[1] !== undefined,
      exported: match[0].startsWith("export"),
      names:
        match[5] === undefined
          ? namesIn(match[2] ?? "", match[1] !== undefined)
          : [{ name: "*", as: "*", typeOnly: false }],
    }));
}

/**
 * The names in an import's or an export's clause: `a, { type B as C }`, `* as d`.
 * @param {string} clause
 * @param {boolean} typeOnly of the whole clause
 * @returns {ImportedName[]}
 */
export function namesIn(clause, typeOnly) {
  const braces = /\{([^}]*)\}/.exec(clause);
  const outside = clause.replace(/\{[^}]*\}/, "");
  const listed = (braces?.[1] ?? "").split(",").flatMap((item) => {
    const found = /^\s*(type\s+(?!as\b))?([\w$]+)(?:\s+as\s+([\w$]+))?\s*$/.exec(item);
    if (!found) return [];
    const name = /** @type {string} */ (found[2]);
    return [{ name, as: found[3] ?? name, typeOnly: typeOnly || found[1] !== undefined }];
  });
  const star = /\*(?:\s*as\s+([\w$]+))?/.exec(outside);
  const first = /^\s*([\w$]+)/.exec(outside);
  return [
    ...(star ? [{ name: "*", as: star[1] ?? "*", typeOnly }] : []),
    ...(first ? [{ name: "default", as: /** @type {string} */ (first[1]), typeOnly }] : []),
    ...listed,
  ];
}
