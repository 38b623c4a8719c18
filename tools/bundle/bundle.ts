import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { build, type OutputFile, type Plugin, stop } from "esbuild";
import type { BuildStamp } from "../../shared/build_info/build_info.ts";
import type { Program } from "../programs.ts";
import { copyTree } from "./files.ts";
import { cutSourceMap, inlineComment } from "./source_map.ts";

/** File of the bundled module in a bundle's folder. */
export const MODULE = "main.mjs";
/** File of the SQLite addon in a bundle's folder; `buildInfo.nativeSqlite` points at it. */
export const ADDON = "better_sqlite3.node";

// CommonJS packages expect these three; an ES module has none of them.
const BANNER = [
  'import { createRequire as __createRequire } from "node:module";',
  "const require = __createRequire(import.meta.url);",
  "const __filename = import.meta.filename;",
  "const __dirname = import.meta.dirname;",
].join("\n");

/** Packages name the built-in modules bare (`fs`); Deno wants `node:fs`. */
const nodeBuiltins: Plugin = {
  name: "node-builtins",
  setup(build) {
    build.onResolve(
      { filter: /^[a-z0-9_]+(\/[a-z0-9_]+)*$/ },
      ({ path }) => isBuiltin(path) ? { path: `node:${path}`, external: true } : undefined,
    );
  },
};

export interface BundleOptions {
  root: string;
  /** Created when missing; holds afterwards the module, the assets and nothing else. */
  outDir: string;
  stamp: BuildStamp;
}

/**
 * Makes one ES module of a program and everything it imports, with its assets beside it. The
 * same bundle serves every platform; only the SQLite addon differs ({@link addonFile}).
 *
 * @throws Error naming the file and line that esbuild could not take.
 */
export async function bundle(program: Program, options: BundleOptions): Promise<void> {
  const { root, outDir, stamp } = options;
  try {
    const result = await build({
      absWorkingDir: root,
      entryPoints: [program.entry],
      outfile: join(outDir, MODULE),
      bundle: true,
      platform: "node",
      format: "esm",
      target: "esnext",
      mainFields: ["module", "main"],
      banner: { js: BANNER },
      define: { MACHINE_BUILD_STAMP: JSON.stringify(stamp) },
      // Names stay: stack traces and error classes are read by people.
      keepNames: true,
      sourcemap: "external",
      sourcesContent: false,
      write: false,
      minifyWhitespace: true,
      minifySyntax: true,
      legalComments: "none",
      logLevel: "silent",
      plugins: [nodeBuiltins],
    });
    await writeModule(result.outputFiles, root, outDir);
  } finally {
    await stop();
  }
  for (const assets of program.assets) {
    await copyTree(join(root, assets.from), join(outDir, assets.as));
  }
}

/** Writes the module with the part of its source map that is about our own files. */
async function writeModule(files: OutputFile[], root: string, outDir: string): Promise<void> {
  const module = files.find((file) => file.path.endsWith(MODULE));
  const map = files.find((file) => file.path.endsWith(`${MODULE}.map`));
  if (!module || !map) throw new Error("esbuild left no module or no source map");
  const own = cutSourceMap(JSON.parse(map.text), (source) => {
    const path = relative(root, resolve(outDir, source)).replaceAll("\\", "/");
    return /^(server|agent|cloud|shared(?!\/gen\/))\//.test(path) ? `./${path}` : undefined;
  });
  await Deno.mkdir(outDir, { recursive: true });
  await Deno.writeTextFile(join(outDir, MODULE), module.text + inlineComment(own));
}

/** A platform as better-sqlite3 names its prebuilt addons. */
export type AddonPlatform = `${"linux" | "win32" | "darwin"}-${"x64" | "arm64"}`;

/** The platform this process runs on. */
export function hostAddonPlatform(host: { os: string; arch: string } = Deno.build): AddonPlatform {
  const os = host.os === "windows" ? "win32" : host.os === "darwin" ? "darwin" : "linux";
  return `${os}-${host.arch === "aarch64" ? "arm64" : "x64"}`;
}

/** Path of the prebuilt SQLite addon for a platform inside node_modules. */
export function addonFile(root: string, platform: AddonPlatform): string {
  return join(root, "node_modules", "better-sqlite3", "prebuilds", `${platform}.node`);
}

/**
 * Bundles for this machine into `.tools/bundle/<program>/`, from where `bin/` runs it. Builds
 * beside it and moves file by file, so two at once and a start in between see whole files.
 */
export async function bundleForHost(
  program: Program,
  root: string,
  stamp: BuildStamp,
): Promise<string> {
  const outDir = join(root, ".tools", "bundle", program.name);
  await Deno.mkdir(outDir, { recursive: true });
  const work = await Deno.makeTempDir({ dir: dirname(outDir), prefix: `.${basename(outDir)}-` });
  try {
    // Sources changed while we read them are newer than this, so the next start bundles again.
    await Deno.writeTextFile(join(work, "stamp"), `${stamp.version} ${stamp.commit}\n`);
    await bundle(program, { root, outDir: work, stamp });
    await Deno.copyFile(addonFile(root, hostAddonPlatform()), join(work, ADDON));
    await moveInto(work, outDir);
    await Deno.rename(join(work, "stamp"), join(outDir, "stamp"));
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return outDir;
}

/** Moves all files of a bundle over those of another, `stamp` excepted. */
async function moveInto(from: string, to: string): Promise<void> {
  for await (const entry of Deno.readDir(from)) {
    if (entry.name === "stamp") continue;
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory) {
      await Deno.mkdir(target, { recursive: true });
      await moveInto(source, target);
    } else await Deno.rename(source, target);
  }
}
