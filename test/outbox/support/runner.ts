import { ResolverRegistry, SagaRunner, type AnyResolver, type SagaRunnerOptions } from "amends/erasure";
import type { Shop } from "./shop.ts";

export function runnerOn(
  { outbox, audit }: Pick<Shop, "outbox" | "audit">,
  resolvers: readonly AnyResolver[],
  options: SagaRunnerOptions = {},
): SagaRunner {
  return new SagaRunner(new ResolverRegistry(resolvers), outbox, audit, options);
}
