import { basename, join } from "node:path";
import { COMMON, OWN_FLAGS, QUICKJS, type Recipe } from "./recipes.ts";
import { forEachAtOnce, run } from "./run.ts";
import { bundleScript, ENTRY, tableEntries } from "./script.ts";
import { type Library, sourcesOf } from "./sources.ts";
import type { Project } from "./project.ts";
import type { Toolchain } from "./toolchain.ts";

/** A part of the program: what the size report has a line for. */
export interface Part {
  readonly name: string;
  /** Objects of it. */
  readonly objects: readonly string[];
}

/** What is compiled for a target, and where it goes. */
export interface ObjectsOptions {
  readonly root: string;
  readonly toolchain: Toolchain;
  /** Of the target's objects. */
  readonly folder: string;
  readonly recipes: readonly Recipe[];
  /** As {@link fetchAll} gave them. */
  readonly sources: ReadonlyMap<Library, string>;
  /** Folder below `micro/hosts` of the platform's own part. */
  readonly host: string;
  /** Folders below `micro/hosts` with sources that are the platform's, too. */
  readonly shared?: readonly string[];
  /** Folders below the platform's with sources and headers of it; default: itself. */
  readonly folders?: readonly string[];
  /** Name of the header with the settings of mbedTLS. */
  readonly mbedtls: string;
  /** For all objects but the libraries' own. */
  readonly flags?: readonly string[];
  /** Headers, relative to the root, that libraries are compiled with. */
  readonly settings: readonly string[];
}

/** Folders with the sources of all libraries, fetched where they are not there yet. */
export async function fetchAll(
  recipes: readonly Recipe[],
  root: string,
): Promise<Map<Library, string>> {
  const sources = new Map<Library, string>();
  const home = join(root, ".tools", "micro", "sources");
  for (const { library } of recipes) sources.set(library, await sourcesOf(library, root, home));
  return sources;
}

/** Makes the objects of a program for one target. */
export class Objects {
  readonly #options: ObjectsOptions;

  constructor(options: ObjectsOptions) {
    this.#options = options;
  }

  /** Objects of all libraries, made where they are not there yet. */
  async libraries(): Promise<Part[]> {
    return await this.#compiled(this.#options.recipes);
  }

  /** Compiles libraries together, so that a large file keeps no processor waiting. */
  async #compiled(recipes: readonly Recipe[]): Promise<Part[]> {
    const planned = await Promise.all(recipes.map((recipe) => this.#plan(recipe)));
    await forEachAtOnce(planned.flatMap(({ missing }) => missing), (compile) => compile());
    return planned.map(({ part }) => part);
  }

  /** Objects of one library, and how those are made that are not there yet, slow ones first. */
  async #plan(recipe: Recipe): Promise<{ part: Part; missing: (() => Promise<void>)[] }> {
    const { library } = recipe;
    const { toolchain, root, settings, folder: home } = this.#options;
    const from = this.#sourcesOf(library);
    const include = recipe.include.map((folder) => `-I${join(from, folder)}`);
    const flags = [...recipe.flags, ...include, ...this.#settings];
    // Compiled again with other settings; the sources are pinned.
    const texts = [toolchain.settings, JSON.stringify([library, recipe, COMMON, this.#settings])];
    for (const file of [...settings, ...library.patch ? [library.patch] : []]) {
      texts.push(await Deno.readTextFile(join(root, file)));
    }
    const hash = new Uint8Array(
      await crypto.subtle.digest("SHA-256", new TextEncoder().encode(texts.join("\n"))),
    ).toHex().slice(0, 16);
    const folder = join(home, `${library.name}-${hash}`);
    await Deno.mkdir(folder, { recursive: true });
    const files = await sourceFiles(from, recipe.files);
    const objects: string[] = [];
    const missing: { size: number; compile: () => Promise<void> }[] = [];
    for (const file of files) {
      const object = join(folder, `${basename(file, ".c")}.o`);
      objects.push(object);
      if (await Deno.stat(object).then(() => true, () => false)) continue;
      const { size } = await Deno.stat(join(from, file));
      missing.push({ size, compile: () => this.#compile(join(from, file), object, flags) });
    }
    missing.sort((a, b) => b.size - a.size);
    return {
      part: { name: library.carries, objects },
      missing: missing.map(({ compile }) => compile),
    };
  }

  /**
   * Objects of the host's own sources, made again each time in a folder.
   *
   * @param folder has `bytecode.h` and `table_entries.h`
   * @param skip names of sources that are not the program's
   */
  async host(
    folder: string,
    { version, commit, skip = [] }: { version: string; commit: string; skip?: readonly string[] },
  ): Promise<Part> {
    const { root, host, shared = [], folders = [""] } = this.#options;
    const flags = [`-I${folder}`, `-DMICRO_VERSION="${version}"`, `-DMICRO_COMMIT="${commit}"`];
    const hosts = join(root, "micro/hosts");
    const files: string[] = [];
    for (const each of ["native", ...shared, ...folders.map((below) => join(host, below))]) {
      for (const file of await sourceFiles(join(hosts, each), ["*.c"])) {
        if (file !== "compile.c" && !skip.includes(file)) files.push(join(hosts, each, file));
      }
    }
    return {
      name: "host, with the script's bytecode",
      objects: await this.own(files, folder, flags),
    };
  }

  /** Objects of sources of this project. */
  async own(
    files: readonly string[],
    folder: string,
    flags: readonly string[],
  ): Promise<string[]> {
    const { recipes, flags: hostFlags = [] } = this.#options;
    const include = recipes.flatMap(({ library, include }) =>
      include.filter((folder) => folder !== "library").map((folder) =>
        `-I${join(this.#sourcesOf(library), folder)}`
      )
    );
    const all = [...OWN_FLAGS, ...hostFlags, ...this.#settings, ...include, ...flags];
    return await forEachAtOnce(files, async (file) => {
      const object = join(folder, `${basename(file, ".c")}.o`);
      await this.#compile(file, object, all);
      return object;
    });
  }

  /**
   * Writes `bytecode.h` of the script, and `table_entries.h`; this target is the host's own. Gives its size.
   *
   * @param lean for little memory: with short names, and stacks without lines
   */
  async bytecode(
    folder: string,
    entry: string | Project = ENTRY,
    { lean = false } = {},
  ): Promise<number> {
    const { root } = this.#options;
    const script = join(folder, "micro.js");
    await Deno.writeTextFile(join(folder, "table_entries.h"), tableEntries());
    await Deno.writeTextFile(script, await bundleScript(root, entry, { lean }));
    const [engine] = await this.#compiled([QUICKJS]);
    if (!engine) throw new Error("there is no engine");
    const compiler = join(folder, "compile");
    const source = join(root, "micro/hosts/native/compile.c");
    await this.#compile(source, `${compiler}.o`, [`-I${this.#sourcesOf(QUICKJS.library)}`]);
    await this.link(compiler, [`${compiler}.o`, ...engine.objects], ["-static", "-s"]);
    const header = join(folder, "bytecode.h");
    await run(compiler, [script, header, ...lean ? ["lean"] : []]);
    return Number((await Deno.readTextFile(header)).match(/BYTECODE_LENGTH = (\d+)/)?.[1]);
  }

  /** Makes a program, without what nobody uses. */
  async link(output: string, objects: readonly string[], flags: readonly string[]): Promise<void> {
    await this.#options.toolchain.compile([
      ...["-Wl,--gc-sections", ...objects, ...flags],
      ...["-o", output],
    ]);
  }

  async #compile(source: string, object: string, flags: readonly string[]): Promise<void> {
    // Renamed when done, so that a build that was killed leaves no half one.
    const fresh = `${object}.${crypto.randomUUID()}.o`;
    await this.#options.toolchain.compile([...COMMON, ...flags, "-c", source, "-o", fresh]);
    await Deno.rename(fresh, object);
  }

  #sourcesOf(library: Library): string {
    return this.#options.sources.get(library) ?? "";
  }

  /** Headers of the platform and what they are named. */
  get #settings(): string[] {
    const { root, host, folders = [""], mbedtls } = this.#options;
    const hosts = join(root, "micro/hosts");
    return [
      `-I${join(hosts, "native")}`,
      ...folders.map((folder) => `-I${join(hosts, host, folder)}`),
      `-DMBEDTLS_USER_CONFIG_FILE="${mbedtls}"`,
    ];
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
