// deno run -A tools/test/bundle_child.ts FOLDER OUT <SOURCE
// Bundles a module's text, whose imports are relative to FOLDER, into OUT/main.mjs. Packages stay
// apart, and each file keeps its own import.meta.
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { build, type Plugin, stop } from "esbuild";
import { ROOT } from "../programs.ts";

const [folder, outdir] = Deno.args;
if (folder === undefined || outdir === undefined) throw new Error("needs FOLDER and OUT");

/** In a bundle all would have one URL; some find files next to them by it. */
function withOwnPlace(text: string, path: string): string {
  return text.replaceAll("import.meta.url", JSON.stringify(pathToFileURL(path).href))
    .replaceAll("import.meta.dirname", JSON.stringify(dirname(path)));
}

const ownPlaces: Plugin = {
  name: "own-places",
  setup(build) {
    build.onLoad({ filter: /\.ts$/ }, async ({ path }) => ({
      contents: withOwnPlace(await Deno.readTextFile(path), path),
      loader: "ts",
    }));
  },
};

const source = await new Response(Deno.stdin.readable).text();
try {
  await build({
    absWorkingDir: ROOT,
    stdin: {
      contents: withOwnPlace(source, join(folder, "child.ts")),
      resolveDir: folder,
      sourcefile: join(folder, "child.ts"),
      loader: "ts",
    },
    outfile: join(outdir, "main.mjs"),
    bundle: true,
    packages: "external",
    platform: "node",
    format: "esm",
    target: "esnext",
    sourcemap: "inline",
    sourcesContent: false,
    logLevel: "error",
    plugins: [ownPlaces],
  });
} finally {
  await stop();
}
