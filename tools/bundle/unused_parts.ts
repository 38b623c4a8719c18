import type { Loader, Plugin } from "esbuild";

/** A file of a package that only what nobody here calls needs, and what stands in its place. */
interface UnusedPart {
  /** The end of its path, without the version. */
  readonly path: RegExp;
  readonly contents: string;
  readonly loader: Loader;
}

/** Together 0.8 MB of machine-cloud; zod's texts are in machine-server, too. */
export const UNUSED_PARTS: readonly UnusedPart[] = [
  // Messages in fifty languages, where we take English.
  {
    path: /\/zod\/v4\/locales\/index\.js$/,
    contents: 'export { default as en } from "./en.js";',
    loader: "js",
  },
  // Its old way to make keys, with node-forge; we use the new one.
  {
    path: /\/acme-client\/src\/crypto\/forge\.js$/,
    contents: "module.exports = {};",
    loader: "js",
  },
  // Types of files in uploads of forms, which ACME does not have.
  { path: /\/mime-db\/db\.json$/, contents: "{}", loader: "json" },
];

/** Leaves {@link UNUSED_PARTS} out of a bundle. */
export const withoutUnused: Plugin = {
  name: "without-unused",
  setup(build) {
    for (const { path, contents, loader } of UNUSED_PARTS) {
      build.onLoad({ filter: path }, ({ path }) => ({
        contents,
        loader,
        resolveDir: path.slice(0, path.lastIndexOf("/")),
      }));
    }
  },
};
