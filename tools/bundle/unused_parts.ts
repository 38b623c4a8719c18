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
  // What libraries write for their developers. It opens the standard streams and looks for a package
  // of colours: a tenth of a first call by WebRTC.
  {
    path: /\/debug\/src\/index\.js$/,
    contents: "const quiet = () => Object.assign(() => {}, { enabled: false });" +
      "module.exports = Object.assign(quiet, { debug: quiet, default: quiet });",
    loader: "js",
  },
  // Types of files in uploads of forms, which ACME does not have.
  { path: /\/mime-db\/db\.json$/, contents: "{}", loader: "json" },
];

const UNUSED = "unused-import";

/** A package that another one imports and uses only in what nobody here calls. */
interface UnusedImport {
  readonly name: string;
  /** The package that imports it; all others get the real one. */
  readonly by: string;
  /** What it gets. */
  readonly contents: string;
}

export const UNUSED_IMPORTS: readonly UnusedImport[] = [
  // werift makes certificates with it, which we do ourselves: 350 KB, and half the time that WebRTC
  // takes to load.
  {
    name: "@peculiar/x509",
    by: "werift",
    contents: "export const cryptoProvider = { set() {} };" +
      "export const X509CertificateGenerator = undefined;" +
      "export const PemConverter = undefined;",
  },
  // It reads certificates and signs with it: what a session shows comes from us.
  {
    name: "@fidm/x509",
    by: "werift",
    contents: "export const Certificate = undefined; export const PrivateKey = undefined;",
  },
];

/** Leaves {@link UNUSED_PARTS} and {@link UNUSED_IMPORTS} out of a bundle. */
export const withoutUnused: Plugin = {
  name: "without-unused",
  setup(build) {
    const all = UNUSED_IMPORTS.map(({ name }) => name.replace("/", "\\/")).join("|");
    build.onResolve({ filter: new RegExp(`^(${all})$`) }, ({ path, importer }) => {
      const unused = UNUSED_IMPORTS.find(({ name, by }) =>
        name === path && importer.replaceAll("\\", "/").includes(`/node_modules/${by}/`)
      );
      return unused && { path, namespace: UNUSED, pluginData: unused.contents };
    });
    build.onLoad({ filter: /^/, namespace: UNUSED }, ({ pluginData }) => ({
      contents: pluginData,
    }));
    for (const { path, contents, loader } of UNUSED_PARTS) {
      build.onLoad({ filter: path }, ({ path }) => ({
        contents,
        loader,
        resolveDir: path.slice(0, path.lastIndexOf("/")),
      }));
    }
  },
};
