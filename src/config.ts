/** What `amends.config.ts` is written with. */
export {
  createAmends,
  defineConfig,
  type AmendsConfig,
  type Assembly,
  type ErasureConfig,
} from "./cli/config/config.ts";
