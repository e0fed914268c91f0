/**
 * The console's browser side, built once into files that the package ships. Every address in the output is relative,
 * so that it works under whatever path an application mounts it.
 */
import { fileURLToPath } from "node:url";
import { defineConfig, type UserConfig } from "vite";
import { compressedCopies, licenceNotices } from "./ship.ts";

const config: UserConfig = defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  base: "./",
  logLevel: "warn",
  plugins: [licenceNotices(), compressedCopies()],
  build: {
    outDir: fileURLToPath(new URL("../dist/console-assets", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // The entry and the application are one file each: no script has to put a link into the document.
    modulePreload: false,
    // The content security policy has no data: addresses.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

export default config;
