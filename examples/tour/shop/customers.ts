/** The shop's own tables, in the same file as the tables of Amends, and where personal data is in them. */
import { dataMap } from "amends/erasure";

export const TABLES = `
  create table if not exists customers (id text primary key, name text not null, email text not null unique);
  create table if not exists messages (
    id integer primary key, customer_id text not null references customers (id), body text not null);
  create table if not exists orders (
    id text primary key, customer_id text not null references customers (id), sku text not null,
    cents integer not null, placed_on text not null, billing_name text not null);
  create index if not exists messages_customer on messages (customer_id);
  create index if not exists orders_customer on orders (customer_id);
`;

/** A customer's row stays, because orders refer to it; messages go; an invoice's name is kept for ten years. */
export const whereDataIs = dataMap({
  customers: {
    subject: "id",
    columns: {
      name: { category: "name", strategy: "anonymize" },
      email: { category: "email", strategy: "anonymize" },
    },
  },
  messages: { via: "customers", columns: { body: { category: "message", strategy: "delete" } } },
  orders: {
    via: "customers",
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
    },
  },
});

const NAMES = ["Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hana", "Ida", "Jo", "Kim", "Lea"];

export interface Customer {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** The n-th customer of the shop, n from 0: after the twelfth, names come again. */
export function customerNumber(n: number): Customer {
  const name = NAMES[n % NAMES.length] as string;
  const id = n < NAMES.length ? `u-${name.toLowerCase()}` : `u-${name.toLowerCase()}-${n}`;
  return { id, name, email: `${id}@example.org` };
}
