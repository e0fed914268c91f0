/** What `amends.config.ts` is written with. */
export { createAmends, defineConfig, type AmendsConfig } from "./cli/config/config.ts";
export type { ProbeOptions } from "./console/health/probes.ts";
