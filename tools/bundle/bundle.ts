import { isBuiltin } from "node:module";
import { basename, dirname, join, relative, resolve } from "node:path";
import { build, type BuildOptions, type OutputFile, type Plugin, stop } from "esbuild";
import type { BuildStamp } from "../../shared/base/build_info/build_info.ts";
import type { Program } from "../programs.ts";
import { type Compression, copyAssets, copyRenamed, QUICK } from "./files.ts";
import { withoutUnused } from "./unused_parts.ts";
import { shortNames } from "./short_names.ts";
import { hideImports } from "./hidden_imports.ts";
import { cutSourceMap, inlineComment } from "./source_map.ts";

/** File that starts a bundled program; parts that are loaded later lie next to it. */
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
  /**
   * Keeps the runtime from seeing at the start which modules are imported later: it would read them
   * all and keep their text. Not for `deno compile`, which takes in what it sees. Default false.
   */
  hidesImports?: boolean;
  /** Resolves when the assets are there; meanwhile the modules are made. Default: they are. */
  assetsThere?: Promise<unknown>;
  /** Default {@link QUICK}. */
  compression?: Compression;
}

/**
 * Makes a few ES modules of a program and everything it imports, with its assets next to them:
 * {@link MODULE}, and one for each part that the program imports only when it needs it, so that
 * what is not needed takes no memory. The same bundle serves every platform; only the SQLite addon
 * differs ({@link addonFile}).
 *
 * @throws Error naming the file and line that esbuild could not take, or text that is not ASCII.
 */
async function bundle(program: Program, options: BundleOptions): Promise<void> {
  const { root, outDir, stamp } = options;
  try {
    const result = await build({
      ...esbuildOptions(program, root),
      outdir: outDir,
      define: { MACHINE_BUILD_STAMP: JSON.stringify(stamp) },
      sourcemap: "external",
      sourcesContent: false,
    });
    await writeModules(result.outputFiles, options);
  } finally {
    await stop();
  }
  await options.assetsThere;
  for (const { from, as, files } of program.assets) {
    if (files) await copyRenamed(join(root, from), join(outDir, as), files, options.compression);
    else await copyAssets(join(root, from), join(outDir, as), options.compression);
  }
}

function esbuildOptions(program: Program, root: string) {
  return {
    absWorkingDir: root,
    entryPoints: { [basename(MODULE, ".mjs")]: program.entry },
    outExtension: { ".js": ".mjs" },
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "esnext",
    mainFields: ["module", "main"],
    banner: { js: BANNER },
    // grpc-js wants it only for channelz and load reports, which nobody here requests.
    external: ["@grpc/proto-loader"],
    write: false,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: "none",
    logLevel: "silent",
    plugins: [nodeBuiltins, withoutUnused, shortNames],
  } satisfies BuildOptions & { write: false };
}

/** The files that a program's bundle and its assets are made of, relative to the root of the checkout. */
export async function bundledFiles(program: Program, root: string): Promise<string[]> {
  try {
    const options = { ...esbuildOptions(program, root), outdir: root, metafile: true as const };
    const { metafile } = await build(options);
    const parts = Object.values(metafile.outputs);
    const sources = parts.flatMap(({ inputs }) => Object.keys(inputs));
    const assets = program.assets.flatMap(({ from, files = {} }) =>
      Object.keys(files).map((name) => relative(root, Deno.realPathSync(join(root, from, name))))
    );
    return [...new Set([...sources, ...assets])];
  } finally {
    await stop();
  }
}

/** Writes the modules, each with the part of its source map that is about our own files. */
async function writeModules(
  files: OutputFile[],
  { root, outDir, hidesImports = false }: BundleOptions,
): Promise<void> {
  await Deno.mkdir(outDir, { recursive: true });
  for (const module of files.filter((file) => file.path.endsWith(".mjs"))) {
    const map = files.find((file) => file.path === `${module.path}.map`);
    if (!map) throw new Error(`esbuild left no source map for ${module.path}`);
    assertAscii(module);
    const { text, columnOf } = hidesImports
      ? hideImports(module.text)
      : { text: module.text, columnOf: undefined };
    const own = cutSourceMap(JSON.parse(map.text), (source) => {
      const path = relative(root, resolve(outDir, source)).replaceAll("\\", "/");
      return /^(server|agent|cloud|shared(?!\/gen\/))\//.test(path) ? `./${path}` : undefined;
    }, columnOf);
    await Deno.writeTextFile(join(outDir, basename(module.path)), text + inlineComment(own));
  }
}

/** V8 keeps a source with one other character at two bytes each: twice the memory, forever. */
function assertAscii({ path, text }: OutputFile): void {
  // deno-lint-ignore no-control-regex
  const at = text.search(/[^\x00-\x7f]/);
  if (at === -1) return;
  const around = JSON.stringify(text.slice(Math.max(0, at - 40), at + 20));
  throw new Error(`${basename(path)} must be ASCII; write the character as \\u escape: ${around}`);
}

/** Names of the modules that a bundle's program imports, now or later; the one that starts it first. */
export async function programModules(bundleDir: string): Promise<string[]> {
  const names = new Set([MODULE]);
  for (const name of names) {
    const text = await Deno.readTextFile(join(bundleDir, name));
    for (const [, other] of text.matchAll(/"\.\/([\w.-]+\.mjs)"/g)) names.add(other!);
  }
  return [...names];
}

/** Names of all modules in a bundle's folder, also of older bundles; the one that starts it last. */
async function bundleModules(bundleDir: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(bundleDir)) {
    if (isFile && name.endsWith(".mjs") && name !== MODULE) names.push(name);
  }
  return [...names.sort(), MODULE];
}

/** A platform as better-sqlite3 names its prebuilt addons. */
export type AddonPlatform = `${"linux" | "win32" | "darwin"}-${"x64" | "arm64"}`;

/** The platform this process runs on. */
function hostAddonPlatform(host: { os: string; arch: string } = Deno.build): AddonPlatform {
  const os = host.os === "windows" ? "win32" : host.os === "darwin" ? "darwin" : "linux";
  return `${os}-${host.arch === "aarch64" ? "arm64" : "x64"}`;
}

/** Path of the prebuilt SQLite addon for a platform inside node_modules. */
export function addonFile(root: string, platform: AddonPlatform): string {
  return join(root, "node_modules", "better-sqlite3", "prebuilds", `${platform}.node`);
}

/**
 * Bundles for this machine into `.tools/bundle/<program>/`, from where `bin/` runs it. Builds
 * next to it and moves file by file, so two at once and a start in between see whole files.
 */
export async function bundleForHost(
  program: Program,
  root: string,
  stamp: BuildStamp,
  { assetsThere = Promise.resolve(), compression = QUICK }: Pick<
    BundleOptions,
    "assetsThere" | "compression"
  > = {},
): Promise<string> {
  const outDir = join(root, ".tools", "bundle", program.name);
  await Deno.mkdir(outDir, { recursive: true });
  const work = await Deno.makeTempDir({ dir: dirname(outDir), prefix: `.${basename(outDir)}-` });
  try {
    // Sources changed while we read them are newer than this, so the next start bundles again.
    await Deno.writeTextFile(join(work, "stamp"), `${stamp.version} ${stamp.commit}\n`);
    const options = { root, outDir: work, stamp, hidesImports: true, assetsThere, compression };
    await bundle(program, options);
    await Deno.copyFile(addonFile(root, hostAddonPlatform()), join(work, ADDON));
    const modules = await bundleModules(work);
    await moveInto(work, outDir);
    await warmUp(modules.map((name) => join(outDir, name)));
    await Deno.rename(join(work, "stamp"), join(outDir, "stamp"));
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return outDir;
}

/**
 * Lets Deno look at the modules now and keep what it found: the parser that it does so with takes
 * 35 MB, which a program that starts first thing afterwards would keep.
 */
async function warmUp(modules: readonly string[]): Promise<void> {
  const args = ["cache", "--quiet", "--no-config", "--no-lock", ...modules];
  const { success, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
  if (!success) throw new Error(`deno cache: ${new TextDecoder().decode(stderr).trim()}`);
}

/**
 * Moves a bundle's files over those of an older one, the module that starts it after all others,
 * `stamp` excepted. Assets that only the older one has go. Modules that only the older one has stay for a day: a process that started
 * with them may still load them.
 */
async function moveInto(from: string, to: string): Promise<void> {
  const entries = await Array.fromAsync(Deno.readDir(from));
  const last = (name: string) => name === MODULE ? 1 : 0;
  for (const entry of entries.sort((a, b) => last(a.name) - last(b.name))) {
    if (entry.name === "stamp") continue;
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory) {
      await Deno.mkdir(target, { recursive: true });
      const names = new Set((await Array.fromAsync(Deno.readDir(source))).map(({ name }) => name));
      await moveInto(source, target);
      // Who serves these files has read them.
      for (const { name } of await Array.fromAsync(Deno.readDir(target))) {
        if (!names.has(name)) await Deno.remove(join(target, name), { recursive: true });
      }
    } else await Deno.rename(source, target);
  }
  const names = new Set(entries.map((entry) => entry.name));
  for (const name of await bundleModules(to)) {
    if (names.has(name) || name === MODULE) continue;
    const { mtime } = await Deno.stat(join(to, name));
    if (Date.now() - (mtime?.getTime() ?? 0) > A_DAY_MS) await Deno.remove(join(to, name));
  }
}

const A_DAY_MS = 24 * 60 * 60_000;
