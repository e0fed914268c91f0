/** What the entries (the files directly in src/) offer, and what of it lacks a sentence of documentation. */
import { lineAt, namesIn } from "../source-text.mjs";
import {
  basesOf,
  declarationsOf,
  docBefore,
  exportedDeclarations,
  isDocumented,
  membersOf,
} from "./declarations.mjs";

/**
 * @typedef {import("./sources.mjs").Source} Source
 * @typedef {import("./sources.mjs").Violation} Violation
 * @typedef {{ name: string, original: string, target: string | undefined, line: number }} Offer one exported name
 * @typedef {{ source: Source, index: number, owner: string, name: string }} Lack a name or a member without a comment
 * @typedef {Violation & { name: string }} Undocumented its key is the name of the whole declaration
 * @typedef {{ entry: string, names: string[], undocumented: Undocumented[] }} Api
 * @typedef {{ name: string, doc: string }} DescribedMember
 * @typedef {{ name: string, kind: string, doc: string, members: DescribedMember[] }} Described an exported name with its comment
 */

/**
 * @param {Source[]} sources
 * @returns {Api[]}
 */
export function apiOf(sources) {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  return sources
    .filter(({ room }) => room === "entry")
    .map((entry) => {
      const offers = offersOf(entry);
      const undocumented = offers.flatMap((offer) => undocumentedOf(entry, offer, byFile));
      return { entry: entry.file, names: offers.map(({ name }) => name), undocumented: unique(undocumented) };
    });
}

/**
 * What each entry exports, with the comments of the names and of their public members.
 * @param {Source[]} sources
 * @returns {{ entry: string, offers: Described[] }[]}
 */
export function describedApi(sources) {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  return sources
    .filter(({ room }) => room === "entry")
    .map((entry) => ({ entry: entry.file, offers: offersOf(entry).map((offer) => describe(offer, byFile)) }));
}

/**
 * @param {Offer} offer
 * @param {Map<string, Source>} byFile
 * @returns {Described}
 */
function describe({ name, original, target }, byFile) {
  const from = target === undefined ? undefined : byFile.get(target);
  const found = from && declaringSource(from, original, byFile);
  if (found === undefined || found === "package")
    return { name, kind: "of another package", doc: "", members: [] };
  const declarations = declarationsOf(found.source, found.name);
  const docs = declarations.map(({ index }) => docBefore(found.source, index));
  return {
    name,
    kind: [...new Set(declarations.map(({ kind }) => kind.replace("*", "")))].join(" and "),
    doc: docs.find((doc) => doc !== "") ?? "",
    members: [...describeMembers(found, byFile)].map(([member, said]) => ({ name: member, doc: said })),
  };
}

/**
 * Own members first, then those of the bases that have another name.
 * @param {{ source: Source, name: string }} found
 * @param {Map<string, Source>} byFile
 * @param {number} [hopsLeft]
 * @returns {Map<string, string>}
 */
function describeMembers({ source, name }, byFile, hopsLeft = 20) {
  /** @type {Map<string, string>} */
  const members = new Map();
  for (const declaration of declarationsOf(source, name)) {
    for (const member of membersOf(source, declaration)) {
      const doc = docBefore(source, member.index);
      if (!doc.startsWith("@internal") && !members.get(member.name)) members.set(member.name, doc);
    }
    const { extended, implemented } = basesOf(source, declaration);
    for (const base of [...extended, ...implemented]) {
      const found = declaringSource(source, base, byFile);
      if (found === undefined || found === "package" || hopsLeft === 0) continue;
      for (const [member, doc] of describeMembers(found, byFile, hopsLeft - 1))
        if (!members.get(member)) members.set(member, doc);
    }
  }
  return members;
}

/**
 * Every name that an entry exports, and every public member of it, has a comment at its declaration.
 * @param {Source[]} sources
 * @returns {Violation[]}
 */
export function checkDocumented(sources) {
  return unique(apiOf(sources).flatMap(({ undocumented }) => undocumented));
}

/** @param {Undocumented[]} violations */
function unique(violations) {
  return [...new Map(violations.map((one) => [`${one.file} ${one.name}`, one])).values()];
}

/**
 * @param {Source} source
 * @returns {Offer[]}
 */
function offersOf(source) {
  const { code, edges } = source;
  const passedOn = edges
    .filter(({ exported }) => exported)
    .flatMap(({ names, target, line }) =>
      names.map(({ name, as }) => ({ name: as, original: name, target, line })),
    );
  return [
    ...passedOn,
    ...listed(source).map(({ name, as, index }) => ({
      name: as,
      original: name,
      target: source.file,
      line: lineAt(code, index),
    })),
    ...exportedDeclarations(source).map(({ name, index }) => ({
      name,
      original: name,
      target: source.file,
      line: lineAt(code, index),
    })),
  ];
}

/**
 * `export { a, type B };`, without a module that they come from.
 * @param {Source} source
 */
function listed({ code }) {
  return [...code.matchAll(/^export\s+(?:type\s+)?(\{[^}]*\})(?!\s*from\b)/gm)].flatMap((match) =>
    namesIn(match[1] ?? "", false).map(({ name, as }) => ({ name, as, index: match.index })),
  );
}

/**
 * @param {Source} entry
 * @param {Offer} offer
 * @param {Map<string, Source>} byFile
 * @returns {Undocumented[]}
 */
function undocumentedOf(entry, offer, byFile) {
  if (offer.target === undefined) return [];
  const from = byFile.get(offer.target);
  const found = from && declaringSource(from, offer.original, byFile);
  if (found === "package") return [];
  if (found === undefined) {
    const message = `cannot find the declaration of ${offer.name}`;
    return [{ file: entry.file, line: offer.line, message, name: offer.name }];
  }
  return lacksOf(found.source, found.name, byFile, new Set()).map(({ source, index, owner, name }) => ({
    file: source.file,
    line: lineAt(source.text, index),
    message: `${name} is public (${entry.file}) and has no comment that says what it is`,
    name,
    key: owner,
  }));
}

/**
 * @param {Source} source
 * @param {string} name
 * @param {Map<string, Source>} byFile
 * @param {Set<string>} seen
 * @returns {Lack[]}
 */
function lacksOf(source, name, byFile, seen) {
  const id = `${source.file} ${name}`;
  if (seen.has(id)) return [];
  seen.add(id);
  const declarations = declarationsOf(source, name);
  const [first] = declarations;
  const isBase = seen.size > 1;
  const own =
    first && !isBase && !declarations.some(({ index }) => isDocumented(source, index))
      ? [{ source, index: first.index, owner: name, name }]
      : [];
  const explained = documentedElsewhere(source, declarations, byFile);
  const members = declarations
    .flatMap((declaration) => membersOf(source, declaration))
    .filter((member) => !member.documented && !explained.has(member.name))
    .map((member) => ({ source, index: member.index, owner: name, name: `${name}.${member.name}` }));
  const inherited = declarations
    .flatMap((declaration) => basesOf(source, declaration).extended)
    .flatMap((base) => {
      const found = declaringSource(source, base, byFile);
      return found === undefined || found === "package"
        ? []
        : lacksOf(found.source, found.name, byFile, seen);
    });
  return [...own, ...members, ...inherited];
}

/**
 * Members that a base or an implemented interface documents: editors show that comment where there is no nearer one.
 * @param {Source} source
 * @param {import("./declarations.mjs").Declaration[]} declarations
 * @param {Map<string, Source>} byFile
 * @param {number} [hopsLeft]
 * @returns {Set<string>}
 */
function documentedElsewhere(source, declarations, byFile, hopsLeft = 20) {
  const names = declarations.flatMap((declaration) => {
    const { extended, implemented } = basesOf(source, declaration);
    return [...extended, ...implemented].flatMap((base) => {
      const found = declaringSource(source, base, byFile);
      if (found === undefined || found === "package" || hopsLeft === 0) return [];
      const bases = declarationsOf(found.source, found.name);
      const own = bases.flatMap((one) => membersOf(found.source, one)).filter(({ documented }) => documented);
      return [
        ...own.map((member) => member.name),
        ...documentedElsewhere(found.source, bases, byFile, hopsLeft - 1),
      ];
    });
  });
  return new Set(names);
}

/**
 * The file that declares a name, found through imports and exports.
 * @param {Source} source
 * @param {string} name
 * @param {Map<string, Source>} byFile
 * @param {number} [hopsLeft]
 * @returns {{ source: Source, name: string } | "package" | undefined}
 */
function declaringSource(source, name, byFile, hopsLeft = 20) {
  if (hopsLeft === 0) return undefined;
  if (declarationsOf(source, name).length > 0) return { source, name };
  for (const { names, target } of source.edges) {
    const found = names.find(({ as }) => as === name);
    if (!found) continue;
    const next = target === undefined ? undefined : byFile.get(target);
    if (target === undefined) return "package";
    return next && declaringSource(next, found.name, byFile, hopsLeft - 1);
  }
  const renamed = listed(source).find(({ as, name: own }) => as === name && own !== name);
  return renamed && declaringSource(source, renamed.name, byFile, hopsLeft - 1);
}

/**
 * Per entry: how many names, how many undocumented ones and members, and the names.
 * @param {Api[]} apis
 */
export function printedApi(apis) {
  return apis
    .map(({ entry, names, undocumented }) => {
      const missing = undocumented.map(({ name }) => `    ${name}`);
      return [
        `${entry}: ${names.length} names, ${undocumented.length} names or members undocumented`,
        `  ${names.toSorted().join(", ")}`,
        ...(missing.length > 0 ? ["  undocumented:", ...missing] : []),
      ].join("\n");
    })
    .join("\n\n");
}
