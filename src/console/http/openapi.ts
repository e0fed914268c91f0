/** The table of routes as an OpenAPI document. The contract defines each response by its name. */
import { WRITE_HEADER } from "./origin.ts";
import type { JsonSchema, Params } from "./param.ts";
import type { Route } from "./route.ts";

export function openApi(routes: readonly Route[], version: string): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of routes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operationOf(route);
  }
  return {
    openapi: "3.1.0",
    info: { title: "Amends console", version },
    paths,
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer" },
        session: { type: "apiKey", in: "cookie", name: "amends" },
      },
      schemas: {
        Problem: {
          type: "object",
          required: ["code", "message"],
          properties: { code: { type: "string" }, message: { type: "string" }, field: { type: "string" } },
        },
      },
    },
  };
}

function operationOf({ method, path, access, summary, answers, query, body }: Route): JsonSchema {
  const isText = answers.includes("/");
  const inPath = path.includes("{id}")
    ? [{ name: "id", in: "path", required: true, schema: { type: "string" } }]
    : [];
  const inQuery = Object.entries(query ?? {}).map(([name, param]) => ({
    name,
    in: "query",
    required: param.required,
    schema: param.schema,
  }));
  // Every change is asked for it, signing in and out too.
  const inHeader =
    method === "GET"
      ? []
      : [{ name: WRITE_HEADER, in: "header", required: true, schema: { type: "string", enum: ["1"] } }];
  return {
    operationId: operationId(method, path),
    summary,
    "x-role": access,
    security: access === "open" ? [] : [{ token: [] }, { session: [] }],
    parameters: [...inPath, ...inQuery, ...inHeader],
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: objectOf(body) } } },
    }),
    responses: {
      200: {
        description: answers,
        content: isText ? { [answers]: {} } : { "application/json": { schema: { title: answers } } },
      },
      default: {
        description: "Refused.",
        content: { "application/json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

function objectOf(params: Params): JsonSchema {
  const entries = Object.entries(params);
  return {
    type: "object",
    additionalProperties: false,
    required: entries.filter(([, { required }]) => required).map(([name]) => name),
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
  };
}

/** `GET /api/sagas/{id}` → getSagasId. */
function operationId(method: string, path: string): string {
  const words = path
    .replace("/api/", "")
    .split(/[^A-Za-z]+/)
    .filter((word) => word !== "");
  return [method.toLowerCase(), ...words.map((word) => `${word[0]?.toUpperCase()}${word.slice(1)}`)].join("");
}
