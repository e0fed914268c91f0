import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
  }
}
