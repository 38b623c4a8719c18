import { readFile } from "node:fs/promises";
import { type Plugin, transform } from "esbuild";

/**
 * Gives names inside of packages' files short ones: an eighth of machine-cloud's modules, which the
 * runtime keeps in memory as text. Ours stay as stack traces show them. What a class of a package is
 * called is not known afterwards: ask for what it is, or for its `name` where it sets one.
 */
export const shortNames: Plugin = {
  name: "short-names",
  setup(build) {
    build.onLoad({ filter: /[\\/]node_modules[\\/].*\.[cm]?js$/ }, async ({ path }) => {
      const text = await readFile(path, "utf8");
      const { code } = await transform(text, {
        minifyIdentifiers: true,
        platform: "node",
        target: "esnext",
        logLevel: "silent",
      });
      return { contents: code, loader: "js" };
    });
  },
};
