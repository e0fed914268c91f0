import "vitest";
import type { Cluster } from "../../tools/postgres-server.mjs";

declare module "vitest" {
  interface ProvidedContext {
    postgresUrl: string;
    emptyCluster: Cluster | undefined;
  }
}
