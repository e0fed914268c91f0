/** Declarations in a source text: where a name is declared, what comment it has, and its members. */

/**
 * @typedef {import("./sources.mjs").Source} Source
 * @typedef {{ kind: string, index: number, end: number }} Declaration where it begins, and where its name ends
 * @typedef {{ name: string, index: number, documented: boolean }} Member
 */

const KINDS = "class|interface|type|function\\*?|const|let|enum";
const UNION_OR_FUNCTION = /[|?]|=>/;
const MODIFIERS = "(?:export\\s+)?(?:(?:default|declare|abstract|async)\\s+)*";

/**
 * Where the file declares a name, at the beginning of a line: several places for overloads and merged declarations.
 * @param {Source} source
 * @param {string} name
 * @returns {Declaration[]}
 */
export function declarationsOf({ code }, name) {
  const escaped = name.replaceAll("$", "\\$");
  const pattern = new RegExp(`^${MODIFIERS}(${KINDS})\\s+${escaped}(?![\\w$])`, "gm");
  return [...code.matchAll(pattern)].map((match) => ({
    kind: /** @type {string} */ (match[1]),
    index: match.index,
    end: match.index + match[0].length,
  }));
}

/**
 * The names that a file declares and exports in one go.
 * @param {Source} source
 * @returns {{ name: string, index: number }[]}
 */
export function exportedDeclarations({ code }) {
  const pattern = new RegExp(`^export\\s+(?:(?:declare|abstract|async)\\s+)*(?:${KINDS})\\s+([\\w$]+)`, "gm");
  const byName = new Map([...code.matchAll(pattern)].map((match) => [match[1] ?? "", match.index]));
  return [...byName].map(([name, index]) => ({ name, index }));
}

/**
 * True where a comment of documentation, with at least one word in it, ends right before.
 * @param {Source} source
 * @param {number} index
 */
export function isDocumented(source, index) {
  return /\w/.test(docBefore(source, index));
}

/**
 * The text of the comment of documentation that ends right before; empty without one.
 * @param {Source} source
 * @param {number} index
 */
export function docBefore({ text, parts }, index) {
  const end = text.slice(0, index).trimEnd().length;
  const comment = parts.find((part) => part.kind === "comment" && part.end === end);
  const said = comment ? text.slice(comment.start, comment.end) : "";
  if (!said.startsWith("/**")) return "";
  return said
    .slice(3, -2)
    .replaceAll(/^[ \t]*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/**
 * The names that an interface or a class extends or that an object type is made of, and those that a class implements.
 * @param {Source} source
 * @param {Declaration} declaration
 * @returns {{ extended: string[], implemented: string[] }}
 */
export function basesOf({ code }, { kind, end }) {
  if (kind === "type") {
    const start = typeParametersEnd(code, end);
    const outline = atDepthZero(code, start, endOfAlias(code, start));
    const parts = UNION_OR_FUNCTION.test(outline) ? [] : outline.replace("=", "").split("&");
    return { extended: parts.flatMap((part) => /^\s*([\w$]+)\s*$/.exec(part)?.[1] ?? []), implemented: [] };
  }
  if (kind !== "interface" && kind !== "class") return { extended: [], implemented: [] };
  const heritage = atDepthZero(code, typeParametersEnd(code, end), bodyAt(code, end));
  /** @param {string} word */
  const after = (word) => {
    const bases =
      new RegExp(`\\b${word}\\b((?:(?!\\b(?:extends|implements)\\b)[^])*)`).exec(heritage)?.[1] ?? "";
    return bases.split(",").flatMap((base) => /^\s*([\w$]+)\s*$/.exec(base)?.[1] ?? []);
  };
  return { extended: after("extends"), implemented: after("implements") };
}

/**
 * The public members of a class, an interface or an object type. The variants of a union have none: its own comment
 * speaks of them. A class's constructor is not listed; without a comment of its own, the members of an options object
 * that it declares in place are.
 * @param {Source} source
 * @param {Declaration} declaration
 * @returns {Member[]}
 */
export function membersOf(source, { kind, end }) {
  const { code } = source;
  if (kind === "interface" || kind === "class") {
    const body = bodyAt(code, end);
    return membersIn(source, body + 1, closing(code, body), kind === "class");
  }
  if (kind !== "type") return [];
  const start = typeParametersEnd(code, end);
  const stop = endOfAlias(code, start);
  if (UNION_OR_FUNCTION.test(atDepthZero(code, start, stop))) return [];
  return bracesAtDepthZero(code, start, stop).flatMap((brace) =>
    membersIn(source, brace + 1, closing(code, brace), false),
  );
}

/**
 * @param {Source} source
 * @param {number} from
 * @param {number} to
 * @param {boolean} isClass
 * @returns {Member[]}
 */
function membersIn(source, from, to, isClass) {
  const { code, text } = source;
  /** @type {Map<string, Member>} */
  const members = new Map();
  for (let at = skipBlank(code, from); at < to;) {
    const stop = isClass ? endOfClassMember(code, at, to) : endOfMember(code, at, to);
    const head = headOf(text.slice(at, stop));
    if (head.name === "constructor" && isClass) {
      for (const brace of isDocumented(source, at) ? [] : bracesInParameters(code, at, stop))
        for (const option of membersIn(source, brace + 1, closing(code, brace), false))
          members.set(`constructor.${option.name}`, { ...option, name: `constructor.${option.name}` });
    } else if (head.isPublic) {
      const before = members.get(head.name);
      const documented = isDocumented(source, at) || before?.documented === true;
      members.set(head.name, { name: head.name, index: before?.index ?? at, documented });
    }
    at = skipBlank(code, stop + (/[;,]/.test(code[stop] ?? "") ? 1 : 0));
  }
  return [...members.values()];
}

const MODIFIER =
  /^(public|protected|private|static|readonly|abstract|override|declare|async|get|set|accessor)\s+(?![(:?=;<,]|$)/;

/**
 * @param {string} member its text from its first character
 * @returns {{ name: string, isPublic: boolean }}
 */
function headOf(member) {
  let rest = member;
  let isPublic = true;
  for (let found = MODIFIER.exec(rest); found; found = MODIFIER.exec(rest)) {
    if (found[1] === "private" || found[1] === "protected") isPublic = false;
    rest = rest.slice(found[0].length);
  }
  rest = rest.replace(/^\*\s*/, "");
  if (rest.startsWith("#") || /^static\s*\{/.test(rest) || /^[;,]/.test(rest))
    return { name: "", isPublic: false };
  if (rest.startsWith("(") || rest.startsWith("<")) return { name: "(call)", isPublic };
  if (/^new\s*[(<]/.test(rest)) return { name: "new", isPublic };
  // A mapped type, or the mark of a symbol of our own, which nobody outside can name.
  if (/^\[\s*[\w$]+\s*(?:\]|in\b)/.test(rest)) return { name: "", isPublic: false };
  const name = /^(?:[\w$]+|"[^"]*"|'[^']*'|\[[^\]]*\])/.exec(rest)?.[0] ?? "";
  return { name, isPublic: isPublic && name !== "" };
}

/** @param {string} code @param {number} from */
function skipBlank(code, from) {
  const skipped = /\S/g;
  skipped.lastIndex = from;
  return skipped.exec(code)?.index ?? code.length;
}

/**
 * Walks over code, and calls `visit` for each character outside of brackets; `true` from it ends the walk there.
 * Angle brackets count in types only.
 * @param {string} code
 * @param {number} from
 * @param {number} to
 * @param {boolean} angles
 * @param {(char: string, at: number) => boolean} visit
 */
function walk(code, from, to, angles, visit) {
  for (let at = from, depth = 0; at < to; at++) {
    const char = /** @type {string} */ (code[at]);
    const isOpening = "([{".includes(char) || (angles && char === "<");
    const isClosing = ")]}".includes(char) || (angles && char === ">" && code[at - 1] !== "=");
    if (isClosing) depth--;
    if (depth === 0 && visit(char, at)) return at;
    if (isOpening) depth++;
  }
  return to;
}

/** The brace that opens the body of a class or an interface. @param {string} code @param {number} from */
function bodyAt(code, from) {
  return walk(code, typeParametersEnd(code, from), code.length, true, (char) => char === "{");
}

/** @param {string} code @param {number} from right after a name */
function typeParametersEnd(code, from) {
  return code[from] === "<" ? walk(code, from, code.length, true, (char) => char === ">") + 1 : from;
}

/** @param {string} code @param {number} open */
function closing(code, open) {
  return walk(code, open, code.length, false, (char, at) => char === "}" && at > open);
}

/** @param {string} code @param {number} from */
function endOfAlias(code, from) {
  return walk(code, from, code.length, true, (char) => char === ";");
}

/** @param {string} code @param {number} from @param {number} to */
function endOfMember(code, from, to) {
  return walk(code, from, to, true, (char) => char === ";" || char === ",");
}

/**
 * A field ends with its semicolon; a method with the brace after which nothing goes on.
 * @param {string} code
 * @param {number} from
 * @param {number} to
 */
function endOfClassMember(code, from, to) {
  let isMethod = false;
  const end = walk(code, from, to, false, (char, at) => {
    if (char === ";") return true;
    if (char !== "}") return false;
    isMethod = !/[;,={|&[.)>?:]/.test(code[skipBlank(code, at + 1)] ?? "");
    return isMethod;
  });
  return isMethod ? end + 1 : end;
}

/** @param {string} code @param {number} from @param {number} to */
function atDepthZero(code, from, to) {
  let kept = "";
  walk(code, from, to, true, (char, at) => {
    if (!"()[]{}<>".includes(char) || code.startsWith("=>", at - 1)) kept += char;
    return false;
  });
  return kept;
}

/** @param {string} code @param {number} from @param {number} to @returns {number[]} */
function bracesAtDepthZero(code, from, to) {
  /** @type {number[]} */
  const found = [];
  walk(code, from, to, true, (char, at) => {
    if (char === "{") found.push(at);
    return false;
  });
  return found;
}

/**
 * The object types among a constructor's parameters; its body does not count.
 * @param {string} code
 * @param {number} from
 * @param {number} to
 */
function bracesInParameters(code, from, to) {
  const open = code.indexOf("(", from);
  const close = walk(code, open, to, false, (char, at) => char === ")" && at > open);
  return bracesAtDepthZero(code, open + 1, close).filter((brace) => /:\s*$/.test(code.slice(open, brace)));
}
