/** The shop: its tables, its people, and where personal data is. */
import { dataMap } from "amends/erasure";

/** A user's row stays, because orders refer to it; messages and avatars go; an invoice's data is kept for ten years. */
export const whereDataIs = dataMap({
  users: {
    subject: "id",
    columns: {
      email: { category: "email", strategy: "anonymize" },
      name: { category: "name", strategy: "anonymize" },
    },
  },
  messages: { via: "users", columns: { body: { category: "message", strategy: "delete" } } },
  avatars: { via: "users", columns: { image: { category: "picture", strategy: "delete" } } },
  orders: {
    via: "users",
    columns: {
      billing_name: {
        category: "name",
        strategy: "retain",
        policy: {
          reason: "invoices are kept for the tax office",
          legalBasis: "tax law, ten years",
          duration: "10y",
          anchor: "placed_on",
        },
      },
      gift_note: { category: "message", strategy: "delete" },
    },
  },
});

export const tables = (dialect: "postgres" | "sqlite"): string => `
  create table users (id text primary key, email varchar(80) not null unique, name text not null, joined_on date);
  create table messages (id text primary key, user_id text not null references users (id), body text not null);
  create table avatars (user_id text primary key references users (id), image ${dialect === "postgres" ? "bytea" : "blob"});
  create table orders (id text primary key, user_id text not null references users (id), cents integer not null,
    placed_on date not null, billing_name text not null, gift_note text);
  insert into users values ('u-ann', 'ann@example.org', 'Ann Archer', '2024-05-01'), ('u-ben', 'ben@exmaple.org', 'Ben Baker', '2025-02-01');
  insert into messages values ('m-1', 'u-ann', 'Where is my tea?'), ('m-2', 'u-ann', 'It came, thanks.'), ('m-3', 'u-ben', 'Do you sell rum?');
  insert into avatars values ('u-ann', 'a picture of Ann');
  insert into orders values
    ('o-1', 'u-ann', 1200, '2019-03-01', 'Ann Archer', 'for mother'),
    ('o-2', 'u-ann', 3400, '2029-11-30', 'Ann Archer', null),
    ('o-3', 'u-ben', 900, '2029-12-24', 'Ben Baker', null);
`;
