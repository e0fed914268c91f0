import type { NextConfig } from "next";

const nextConfig: NextConfig = {
  cacheComponents: true,
  partialPrefetching: true,
  output: "standalone", // everything that the server needs is in .next/standalone
  // File tracing does not see the files of the console's pages. The key is a pattern of routes.
  outputFileTracingIncludes: { "/console/*": ["./node_modules/amends/dist/console-assets/**/*"] },
  skipTrailingSlashRedirect: true, // the console's pages are below /console/, with the slash
  // This folder is the whole project, also if a folder above it has a lock file.
  outputFileTracingRoot: import.meta.dirname,
  turbopack: { root: import.meta.dirname },
};

export default nextConfig;
