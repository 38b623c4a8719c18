import { svelte } from "@sveltejs/vite-plugin-svelte";
import { env } from "node:process";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Where `make console` finds a cloud. */
const CLOUD_URL = env.MACHINE_CLOUD_URL ?? "http://127.0.0.1:8080";

/** What the cloud answers itself: calls, sign-in, files. */
const OF_CLOUD =
  "^/(?:(?:viam|machine|proto|grpc)\\.|account/|data/.|releases/.|packages/|ca\\.pem)";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  cacheDir: fileURLToPath(new URL("../.tools/vite", import.meta.url)),
  plugins: [svelte({ configFile: false, compilerOptions: { runes: true } })],
  build: {
    target: "es2023",
    // An inlined file would be a data: address, which the policy of the page refuses.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { [OF_CLOUD]: { target: CLOUD_URL, changeOrigin: false } } },
});
