/**
 * Holds docs/sources.md against the code: every file that a row names exists, every name after it is in that file, every
 * test is found by its title, every deviation stands in section 9 of the specification, and the counts add up. So a test
 * that is renamed or a rule that is dropped is noticed on that page.
 *
 * A row: number, statement, where (`file`: `name`, `name`), test (`file`: [K-01] part of its title), verdict. Several
 * files or tests of one row are divided by <br>.
 */

/**
 * @typedef {{ document: string, number: number, statement: string, where: string, test: string, verdict: string }} Row
 * @typedef {(file: string) => string | undefined} Read undefined: there is no such file
 */

const VERDICTS = ["same", "stronger", "different"];

/**
 * @param {string} page
 * @returns {Row[]}
 */
export function readRows(page) {
  /** @type {Row[]} */
  const rows = [];
  let document = "";
  for (const line of page.split("\n")) {
    const [, heading] = /^## (\d{3}): /.exec(line) ?? [];
    if (heading !== undefined) document = heading;
    const [, number, statement = "", where = "", test = "", verdict = ""] =
      /^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/.exec(line) ?? [];
    if (number !== undefined && document !== "")
      rows.push({ document, number: Number(number), statement, where, test, verdict });
  }
  return rows;
}

/**
 * What is wrong with the page, in words. Empty if it is true.
 * @param {string} page
 * @param {string} spec
 * @param {Read} read
 * @returns {string[]}
 */
export function findings(page, spec, read) {
  const rows = readRows(page);
  const ids = deviationsOf(spec);
  return [
    ...rows.flatMap((row) =>
      [...placeFindings(row, read), ...testFindings(row, read), ...verdictFindings(row, ids)].map(
        (finding) => `${row.document} row ${row.number}: ${finding}`,
      ),
    ),
    ...numberFindings(rows),
    ...countFindings(page, rows),
  ];
}

/**
 * @param {Row} row
 * @param {Read} read
 */
function placeFindings({ where }, read) {
  return where.split("<br>").flatMap((place) => {
    const [, file, names = ""] = /^`([^`]+)`(?:: (.+))?$/.exec(place.trim()) ?? [];
    if (file === undefined) return [`${place} names no file`];
    const text = read(file);
    if (text === undefined) return [`${file} does not exist`];
    const missing = [...names.matchAll(/`([^`]+)`/g)].filter(([, name = ""]) => !text.includes(name));
    return missing.map(([, name]) => `${file} has no ${name}`);
  });
}

/**
 * @param {Row} row
 * @param {Read} read
 */
function testFindings({ test }, read) {
  return test.split("<br>").flatMap((one) => {
    const [, file, title = ""] = /^`([^`]+)`: (.+)$/.exec(one.trim()) ?? [];
    if (file === undefined) return [`${one} names no test`];
    const text = read(file);
    if (text === undefined) return [`${file} does not exist`];
    return titlesOf(text).some((whole) => whole.includes(title)) ? [] : [`${file} has no test "${title}"`];
  });
}

/**
 * The titles of a file's tests, and of the cases and scenarios that tests are made from.
 * @param {string} text
 */
function titlesOf(text) {
  const titles = /(?:\bit\(|\)\(|\b(?:title|name):)\s*(["`])((?:\\.|(?!\1)[\s\S])*)\1/g;
  return [...text.matchAll(titles)].map(([, , title = ""]) =>
    title.replaceAll(/\s+/g, " ").replaceAll("\\", ""),
  );
}

/**
 * @param {Row} row
 * @param {ReadonlySet<string>} ids
 */
function verdictFindings({ verdict }, ids) {
  const [word = ""] = verdict.split(":");
  if (!VERDICTS.includes(word)) return [`the verdict is ${word}, not one of ${VERDICTS.join(", ")}`];
  const named = [...verdict.matchAll(/\b(?:9\.\d+|\d{3}-[a-z])\b/g)].map(([id]) => id);
  const unknown = named.filter((id) => !ids.has(id)).map((id) => `section 9 has no ${id}`);
  const isUnnamed = word === "different" && named.length === 0;
  return isUnnamed ? ["a difference must name its item of section 9"] : unknown;
}

/**
 * The ids of section 9: `9.7` of its list, `001-b` of its table.
 * @param {string} spec
 * @returns {ReadonlySet<string>}
 */
function deviationsOf(spec) {
  const [, section = ""] = /^## 9\. .*\n([\s\S]*?)(?=^## |(?![\s\S]))/m.exec(spec) ?? [];
  const listed = [...section.matchAll(/^(\d+)\. /gm)].map(([, number]) => `9.${number}`);
  const further = [...section.matchAll(/^\| (\d{3}-[a-z]) \|/gm)].map(([, id = ""]) => id);
  return new Set([...listed, ...further]);
}

/** @param {readonly Row[]} rows */
function numberFindings(rows) {
  return rows.flatMap((row, index) => {
    const before = rows[index - 1];
    const expected = before?.document === row.document ? before.number + 1 : 1;
    return row.number === expected
      ? []
      : [`${row.document} row ${row.number}: its number must be ${expected}`];
  });
}

/**
 * The table of counts has a line for each document.
 * @param {string} page
 * @param {readonly Row[]} rows
 */
function countFindings(page, rows) {
  /** @param {readonly Row[]} some */
  const counted = (some) => [
    some.length,
    ...VERDICTS.map((word) => some.filter(({ verdict }) => verdict.split(":")[0] === word).length),
  ];
  const documents = [...new Set(rows.map(({ document }) => document))];
  const expected = [
    ...documents.map((of) => [of, ...counted(rows.filter(({ document }) => document === of))]),
    ["all", ...counted(rows)],
  ].map((cells) => `| ${cells.join(" | ")} |`);
  return expected.filter((line) => !page.includes(line)).map((line) => `the counts must be ${line}`);
}
