/** The files that `amends init` writes: a first saga that runs as it stands, and the config that knows it. */
export interface Project {
  readonly language: "ts" | "js";
  /** What the names of the new files end with: `.mts` and `.mjs` where the package is not a module. */
  readonly extension: "ts" | "mts" | "js" | "mjs";
  readonly schemaLibrary: "zod" | undefined;
}

export interface NewFile {
  readonly name: string;
  readonly text: string;
}

export const FIRST_SAGA = "first-saga";

/**
 * One file, because no path of another one suits every reader: Node.js wants `./first-saga.ts`, and a plain tsc refuses
 * just that.
 */
export function filesFor(project: Project): readonly NewFile[] {
  return [{ name: `amends.config.${project.extension}`, text: config(project) }];
}

function config({ language, schemaLibrary }: Project): string {
  const isZod = schemaLibrary === "zod";
  const schema = isZod
    ? `const order = z.object({ name: z.string(), cents: z.number().int() });\n`
    : plainSchema(language);
  return `import { err, ok, saga } from "amends";
import { defineConfig } from "amends/config";
${isZod ? `import { z } from "zod";\n` : ""}
${schema}
/** Reserves a cup of tea, charges for it, and serves it. If the charge fails, the cup is released. */
export const firstSaga = saga("${FIRST_SAGA}", order)
  .step("reserve", {
    act: ({ input, key }) => {
      console.log(\`reserve a cup for \${input.name}, under the key \${key}\`);
      return { cup: 1 };
    },
    compensate: ({ actKey }) => console.log(\`release what was reserved under \${actKey}\`),
  })
  .step("charge", {
    act: ({ input }) => (input.cents > 10_000 ? err("card-declined") : ok({ charge: "c-1" })),
    compensate: ({ actKey }) => console.log(\`refund what was charged under \${actKey}\`),
  })
  .pivot("serve", { act: ({ results }) => console.log(\`serve cup \${results.reserve.cup}\`) });

export default defineConfig({
  // A SQLite file, or a PostgreSQL URL (then also: npm install pg). Default: DATABASE_URL.
  database: "amends.db",
${language === "ts" ? TYPED_PLACE : PLAIN_PLACE}
  sagas: [firstSaga],
});
`;
}

const PLAIN_PLACE = "  // Sagas may be in separate files.";
const TYPED_PLACE = `  // Sagas may be in separate files: import them as "./order.ts" if Node.js loads them (in tsconfig.json:
  // "allowImportingTsExtensions": true), or as "./order.js" if tsx does.`;

/** Any Standard Schema library says the same in one line; none is installed here. */
function plainSchema(language: Project["language"]): string {
  return language === "ts" ? TYPED_SCHEMA : PLAIN_SCHEMA;
}

const ADVICE =
  "/** With Zod, Valibot or ArkType this is one line: z.object({ name: z.string(), cents: z.number().int() }) */";

const PLAIN_SCHEMA = `${ADVICE}
const order = {
  "~standard": {
    version: /** @type {const} */ (1),
    vendor: "by-hand",
    validate(value) {
      const { name, cents } = value ?? {};
      return typeof name === "string" && Number.isInteger(cents)
        ? { value: { name, cents } }
        : { issues: [{ message: "an order has a name and whole cents" }] };
    },
  },
};
`;

const TYPED_SCHEMA = `interface Order {
  readonly name: string;
  readonly cents: number;
}

${ADVICE}
const order = {
  "~standard": {
    version: 1 as const,
    vendor: "by-hand",
    types: undefined as { readonly input: Order; readonly output: Order } | undefined,
    validate(value: unknown): { value: Order } | { issues: { message: string }[] } {
      const { name, cents } = (value ?? {}) as Partial<Order>;
      return typeof name === "string" && typeof cents === "number" && Number.isInteger(cents)
        ? { value: { name, cents } }
        : { issues: [{ message: "an order has a name and whole cents" }] };
    },
  },
};
`;

/** For an empty folder that shall hold TypeScript. */
export const TSCONFIG: string = `${JSON.stringify(
  {
    compilerOptions: {
      target: "es2023",
      module: "nodenext",
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      verbatimModuleSyntax: true,
      erasableSyntaxOnly: true,
      skipLibCheck: true,
    },
  },
  null,
  2,
)}\n`;
