/**
 * Words that were replaced do not come back: as identifiers, and as names of files and folders. Comments and texts are
 * not read, so that ordinary English stays ordinary.
 */
import { lineAt } from "../source-text.mjs";
import { stemOf } from "./sources.mjs";

/**
 * `pattern` is a regular expression for a whole identifier. `part` is one for a camel-case part of it, in small letters:
 * "desk" finds `desk`, `EntryDesk`, `deskOptions`, `DESK_MAX` and entry-desk.ts. `in` limits a word to these paths,
 * where it is ordinary elsewhere. `literals` also finds it as the whole text of a string.
 * @typedef {{ pattern?: string, part?: string, use: string, in?: string[], literals?: boolean }} ReplacedWord
 *
 * @typedef {import("./sources.mjs").SourceText} SourceText
 * @typedef {import("./sources.mjs").Violation} Violation
 */

/** The name of a word in the list of what is pending. @param {ReplacedWord} word */
export function nameOf({ pattern, part }) {
  return part ?? pattern ?? "";
}

/**
 * @param {SourceText[]} texts
 * @param {ReplacedWord[]} words
 * @returns {Violation[]}
 */
export function checkReplacedWords(texts, words) {
  const compiled = words.map((word) => ({
    word,
    matches: matcher(word),
  }));
  /** @type {Map<string, ReplacedWord[]>} */
  const known = new Map();
  /** @param {string} identifier */
  const wordsOf = (identifier) => {
    let found = known.get(identifier);
    if (found === undefined) {
      found = compiled.filter(({ matches }) => matches(identifier)).map(({ word }) => word);
      known.set(identifier, found);
    }
    return found;
  };
  /** @type {Set<string>} */
  const reported = new Set();
  /** @type {Violation[]} */
  const violations = [];
  /**
   * @param {ReplacedWord[]} found
   * @param {string} file
   * @param {string} name
   * @param {() => number} line
   * @param {string} [where] what is reported once
   */
  const report = (found, file, name, line, where = file) => {
    for (const word of found) {
      const id = `${where} ${name}`;
      if (!isIn(file, word) || reported.has(id)) continue;
      reported.add(id);
      const message = `\`${name}\` is a replaced word; use ${word.use}`;
      violations.push({ file, line: line(), message, key: nameOf(word) });
    }
  };
  for (const { file, text, parts, code } of texts) {
    const segments = file.split("/");
    segments.forEach((segment, index) => {
      const stem = stemOf(segment);
      const where = segments.slice(0, index + 1).join("/");
      for (const name of [camelCase(stem), pascalCase(stem)]) {
        const found = wordsOf(name);
        if (found.length === 0) continue;
        report(found, file, segment, () => 1, where);
        break;
      }
    });
    for (const match of code.matchAll(/[A-Za-z_$][\w$]*/g)) {
      const found = wordsOf(match[0]);
      if (found.length > 0) report(found, file, match[0], () => lineAt(text, match.index));
    }
    for (const { kind, start, end } of parts) {
      if (kind !== "string") continue;
      const literal = text.slice(start, end);
      if (!/^\w+$/.test(literal)) continue;
      const found = wordsOf(literal).filter((word) => word.literals === true);
      report(found, file, literal, () => lineAt(text, start));
    }
  }
  return violations;
}

/**
 * @param {ReplacedWord} word
 * @returns {(identifier: string) => boolean}
 */
function matcher({ pattern, part }) {
  if (part === undefined) {
    const whole = new RegExp(`^(?:${pattern})$`);
    return (identifier) => whole.test(identifier);
  }
  const whole = new RegExp(`^(?:${part})$`);
  return (identifier) => partsIn(identifier).some((one) => whole.test(one));
}

/**
 * The camel-case parts of an identifier, in small letters.
 * @param {string} identifier
 */
function partsIn(identifier) {
  return (identifier.match(/[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+/g) ?? []).map((part) => part.toLowerCase());
}

/** @param {string} file @param {ReplacedWord} word */
function isIn(file, word) {
  return word.in === undefined || word.in.some((folder) => file.startsWith(`${folder}/`));
}

/** @param {string} stem */
function camelCase(stem) {
  return stem.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());
}

/** @param {string} stem */
function pascalCase(stem) {
  return camelCase(`-${stem}`);
}
