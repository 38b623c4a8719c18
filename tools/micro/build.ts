import { basename, dirname, join } from "node:path";
import { LIBRARIES, type Library, sourcesOf } from "./sources.ts";
import { forEachAtOnce, run } from "./run.ts";
import type { Project } from "./project.ts";
import { bundleScript, ENTRY } from "./script.ts";
import { type MicroTarget, ownTarget } from "./targets.ts";

/** A part of the program: what the size report has a line for. */
export interface Part {
  readonly name: string;
  /** Objects of it. */
  readonly objects: readonly string[];
}

/** What is compiled of a library, and how. */
interface Recipe {
  readonly library: Library;
  /** Relative to the sources; `*.c` stands for all of a folder. */
  readonly files: readonly string[];
  readonly include: readonly string[];
  readonly flags: readonly string[];
}

const COMMON = [
  ..."-std=gnu11 -ffunction-sections -fdata-sections -fno-sanitize=undefined -fno-ident".split(" "),
  "-fstack-protector-strong",
];

const MBEDTLS_FLAGS = ['-DMBEDTLS_USER_CONFIG_FILE="mbedtls_user.h"'];

const RECIPES: readonly Recipe[] = [
  {
    library: LIBRARIES.quickjs,
    files: ["quickjs.c", "libregexp.c", "libunicode.c", "dtoa.c"],
    include: ["."],
    // For speed; the others for size.
    flags: ["-O2", "-D_GNU_SOURCE", "-funsigned-char", "-w"],
  },
  {
    library: LIBRARIES.mbedtls,
    files: ["library/*.c"],
    include: ["include", "library"],
    flags: ["-Os", ...MBEDTLS_FLAGS],
  },
  {
    library: LIBRARIES.monocypher,
    files: ["monocypher.c", "optional/monocypher-ed25519.c"],
    include: [".", "optional"],
    flags: ["-Os"],
  },
];

const OWN_FLAGS = [
  ..."-Os -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused-parameter -Wno-sign-compare".split(" "),
  "-Wno-missing-field-initializers",
  ...MBEDTLS_FLAGS,
];

export interface BuildOptions {
  readonly root: string;
  /** Zig's compiler. */
  readonly zig: string;
  readonly version: string;
  readonly commit: string;
  /** The module that runs, relative to `root`, or a project's. Default: the machine. */
  readonly entry?: string | Project;
  /** Where the program goes. Default: `dist/machine-micro-server-TARGET`. */
  readonly output?: string;
}

/** A finished program. */
export interface Built {
  /** Stripped. */
  readonly file: string;
  /** The same with its symbols. */
  readonly withSymbols: string;
  readonly parts: readonly Part[];
  /** Bytes of the script's bytecode. */
  readonly bytecode: number;
}

/**
 * Makes machine-micro-server for a target.
 *
 * @throws Error with what the compiler said.
 */
export async function buildMicro(target: MicroTarget, options: BuildOptions): Promise<Built> {
  const home = join(options.root, ".tools", "micro");
  await Deno.mkdir(home, { recursive: true });
  // One at a time: two would both compile the libraries.
  using lock = await Deno.open(join(home, "LOCK"), { create: true, write: true });
  await lock.lock(true);
  return await buildIn(home, target, options);
}

async function buildIn(home: string, target: MicroTarget, options: BuildOptions): Promise<Built> {
  const { root } = options;
  const sources = new Map<Library, string>();
  for (const { library } of RECIPES) {
    sources.set(library, await sourcesOf(library, root, join(home, "sources")));
  }
  const own = ownTarget();
  const name = `machine-micro-server-${target.name}`;
  const file = options.output ?? join(root, "dist", name);
  // What differs from one program to the next; two of them may be made at once.
  const work = join(home, target.name, `host-${basename(file)}`);
  await Deno.mkdir(work, { recursive: true });
  await Deno.mkdir(dirname(file), { recursive: true });
  const native = new Build(own, options, join(home, own.name), sources);
  const bytecode = await native.bytecode(work);
  const build = new Build(target, options, join(home, target.name), sources);
  const parts = [...await build.libraries(), await build.host(work)];
  const objects = parts.flatMap((part) => part.objects);
  const withSymbols = join(work, name);
  await build.link(withSymbols, objects, []);
  await build.link(`${file}.new`, objects, ["-s"]);
  await Deno.rename(`${file}.new`, file);
  return { file, withSymbols, parts, bytecode };
}

class Build {
  readonly #target: MicroTarget;
  readonly #options: BuildOptions;
  readonly #folder: string;
  readonly #sources: ReadonlyMap<Library, string>;

  constructor(
    target: MicroTarget,
    options: BuildOptions,
    folder: string,
    sources: ReadonlyMap<Library, string>,
  ) {
    this.#target = target;
    this.#options = options;
    this.#folder = folder;
    this.#sources = sources;
  }

  /** Objects of all libraries, made where they are not there yet. */
  async libraries(): Promise<Part[]> {
    const parts: Part[] = [];
    for (const recipe of RECIPES) parts.push(await this.#library(recipe));
    return parts;
  }

  async #library(recipe: Recipe): Promise<Part> {
    const { library } = recipe;
    const from = this.#sources.get(library) ?? "";
    const include = recipe.include.map((folder) => `-I${join(from, folder)}`);
    const flags = [...recipe.flags, ...include, `-I${this.#nativeFolder}`];
    // Compiled again with other flags; the sources are pinned.
    const settings = [
      JSON.stringify([library, recipe, COMMON, this.#target]),
      await Deno.readTextFile(join(this.#nativeFolder, "mbedtls_user.h")),
      await Deno.readTextFile(join(this.#options.root, "tools", "zig_requirements.txt")),
    ].join("\n");
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(settings)),
    ).toHex().slice(0, 16);
    const folder = join(this.#folder, `${library.name}-${hash}`);
    await Deno.mkdir(folder, { recursive: true });
    const files = await sourceFiles(from, recipe.files);
    const objects = await forEachAtOnce(files, async (file) => {
      const object = join(folder, `${basename(file, ".c")}.o`);
      const there = await Deno.stat(object).catch(() => undefined);
      if (!there) await this.#compile(join(from, file), object, flags);
      return object;
    });
    return { name: library.carries, objects };
  }

  /** Objects of the host's own sources, made again each time in the folder that has `bytecode.h`. */
  async host(folder: string): Promise<Part> {
    const { root, version, commit } = this.#options;
    const include = RECIPES.flatMap(({ library, include }) =>
      include.filter((folder) => folder !== "library").map((folder) =>
        `-I${join(this.#sources.get(library) ?? "", folder)}`
      )
    );
    const flags = [
      ...OWN_FLAGS,
      ...include,
      `-I${this.#nativeFolder}`,
      `-I${folder}`,
      `-DMICRO_VERSION="${version}"`,
      `-DMICRO_COMMIT="${commit}"`,
    ];
    const files = [
      ...(await sourceFiles(this.#nativeFolder, ["*.c"])).filter((file) => file !== "compile.c")
        .map((file) => join(this.#nativeFolder, file)),
      ...(await sourceFiles(join(root, "micro/hosts/linux"), ["*.c"])).map((file) =>
        join(root, "micro/hosts/linux", file)
      ),
    ];
    const objects = await forEachAtOnce(files, async (file) => {
      const object = join(folder, `${basename(file, ".c")}.o`);
      await this.#compile(file, object, flags);
      return object;
    });
    return { name: "host, with the script's bytecode", objects };
  }

  /** Writes `bytecode.h` of the script; this target is the computer's own. Gives its size. */
  async bytecode(folder: string): Promise<number> {
    const { root, entry = ENTRY } = this.#options;
    const [quickjs] = RECIPES;
    if (!quickjs) return 0;
    const script = join(folder, "micro.js");
    await Deno.writeTextFile(script, await bundleScript(root, entry));
    const engine = await this.#library(quickjs);
    const compiler = join(folder, "compile");
    const sources = this.#sources.get(quickjs.library) ?? "";
    await this.#compile(join(this.#nativeFolder, "compile.c"), `${compiler}.o`, [`-I${sources}`]);
    await this.link(compiler, [`${compiler}.o`, ...engine.objects], []);
    const header = join(folder, "bytecode.h");
    await run(compiler, [script, header]);
    return Number((await Deno.readTextFile(header)).match(/BYTECODE_LENGTH = (\d+)/)?.[1]);
  }

  async link(output: string, objects: readonly string[], flags: readonly string[]): Promise<void> {
    await this.#zig(["-static", "-Wl,--gc-sections", ...flags, ...objects, "-o", output]);
  }

  async #compile(source: string, object: string, flags: readonly string[]): Promise<void> {
    // Renamed when done, so that a build that was ended leaves no half one.
    const fresh = `${object}.${crypto.randomUUID()}.o`;
    await this.#zig([...COMMON, ...flags, "-c", source, "-o", fresh]);
    await Deno.rename(fresh, object);
  }

  async #zig(args: readonly string[]): Promise<void> {
    const caches = join(this.#options.root, ".tools", "micro", "zig-cache");
    await run(this.#options.zig, ["cc", ...this.#target.compiler, ...args], {
      env: { ZIG_GLOBAL_CACHE_DIR: caches, ZIG_LOCAL_CACHE_DIR: caches },
    });
  }

  get #nativeFolder(): string {
    return join(this.#options.root, "micro/hosts/native");
  }
}

async function sourceFiles(folder: string, patterns: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const pattern of patterns) {
    if (!pattern.endsWith("*.c")) {
      files.push(pattern);
      continue;
    }
    const below = pattern.slice(0, -"*.c".length);
    for await (const { name } of Deno.readDir(join(folder, below))) {
      if (name.endsWith(".c")) files.push(below + name);
    }
  }
  return files.sort();
}
