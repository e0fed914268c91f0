/** The application's tables with personal data, their rows, and the data map. */
import { dataMap, type DataMap } from "amends/erasure";

export const SUBJECT = "ann";
/** This text occurs only in Ann's rows. */
export const CANARY = "canary-5f1c";
export const CORRECTED = "corrected-77ab";

type Name = (table: string) => string;

export function peopleTables(name: Name): readonly string[] {
  return [
    `create table ${name("people")} (id text primary key, email text not null, joined text not null)`,
    `create table ${name("letters")} (id text primary key, person_id text not null references ${name("people")} (id), body text not null)`,
  ];
}

export function peopleRows(name: Name): readonly string[] {
  return [
    `insert into ${name("people")} values ('${SUBJECT}', '${CANARY}@example.org', '2020'), ('ben', 'ben@example.org', '2021')`,
    `insert into ${name("letters")} values ('1', '${SUBJECT}', '${CANARY} hello'), ('2', 'ben', 'hello')`,
  ];
}

/** The person's row is anonymized, the letters are deleted. */
export function peopleDataMap(name: Name): DataMap {
  return dataMap({
    [name("people")]: { subject: "id", columns: { email: { category: "email", strategy: "anonymize" } } },
    [name("letters")]: {
      via: name("people"),
      columns: { body: { category: "letter", strategy: "delete" } },
    },
  });
}
