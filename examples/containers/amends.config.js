/** What the worker runs. The database is that of DATABASE_URL. */
import { saga } from "amends";
import { defineConfig } from "amends/config";

/** Any Standard Schema library does this in one line. */
const order = {
  "~standard": {
    version: /** @type {const} */ (1),
    vendor: "example",
    validate: (/** @type {unknown} */ value) => ({ value }),
  },
};

const greet = saga("greet", order).step("hello", { act: ({ key }) => `hello under the key ${key}` });

export default defineConfig({ sagas: [greet] });
