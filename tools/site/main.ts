// make site [BASE=/path/]: builds the site of the documentation into dist/site/, and below it that of
// the newest tag of each minor version. Its libraries are its own, fetched with the first build.
import { dirname, join } from "node:path";
import process from "node:process";
import { x as extract } from "tar";
import { toError } from "../../shared/base/errors/to_error.ts";
import { gitIn } from "../bundle/build_stamp.ts";
import { ROOT } from "../programs.ts";
import { menu, siteSources } from "./pages.ts";
import libraries from "./vitepress/deno.json" with { type: "json" };

const OWN = join(import.meta.dirname ?? ".", "vitepress");
const WORK = join(ROOT, ".tools", "site");
const OUT = join(ROOT, "dist", "site");
const VERSION = /^v(\d+\.\d+)\.\d+$/;

interface Version {
  /** As the menu names it. */
  readonly name: string;
  /** Below the base: `` or `v1.2.3/`. */
  readonly path: string;
  /** Folder with the sources. */
  readonly from: string;
}

async function main(): Promise<void> {
  const base = Deno.args[0] || "/";
  if (!/^\/([\w.-]+\/)*$/.test(base)) throw new Error(`BASE=${base} must look like /path/`);
  await Deno.mkdir(WORK, { recursive: true });
  for (const name of ["deno.json", "deno.lock"]) {
    await Deno.copyFile(join(OWN, name), join(WORK, name));
  }
  await deno("install", "--frozen", "--quiet");
  await Deno.remove(OUT, { recursive: true }).catch(() => {});
  const tags = (await gitIn(ROOT)("tag", "--sort=-v:refname") ?? "").split("\n")
    .filter((tag) => VERSION.test(tag))
    .filter((tag, at, all) => all.findIndex((each) => minorOf(each) === minorOf(tag)) === at);
  const versions: Version[] = [{ name: "latest", path: "", from: ROOT }];
  for (const tag of tags) versions.push({ name: tag, path: `${tag}/`, from: await sourcesOf(tag) });
  for (const version of versions) {
    await build(version, versions, base);
    process.stdout.write(`built ${join(OUT, version.path)}\n`);
  }
}

const minorOf = (tag: string): string | undefined => VERSION.exec(tag)?.[1];

async function sourcesOf(tag: string): Promise<string> {
  const folder = join(WORK, "tags", tag);
  await Deno.remove(folder, { recursive: true }).catch(() => {});
  await Deno.mkdir(folder, { recursive: true });
  const archive = join(WORK, `${tag}.tar`);
  if (await gitIn(ROOT)("archive", "--output", archive, tag) === undefined) {
    throw new Error(`git archive ${tag} failed`);
  }
  await extract({ file: archive, cwd: folder });
  await Deno.remove(archive);
  return folder;
}

async function build(version: Version, versions: readonly Version[], base: string): Promise<void> {
  const { name, path, from } = version;
  const stage = join(WORK, "stage");
  await Deno.remove(stage, { recursive: true }).catch(() => {});
  const paths = from === ROOT
    ? (await gitIn(ROOT)("ls-files", "--cached", "--others", "--exclude-standard") ?? "").split(
      "\n",
    )
    : await filesBelow(from);
  const there = paths.filter(Boolean).filter((each) => exists(join(from, each)));
  const { pages, files } = await siteSources(there, (each) => Deno.readTextFile(join(from, each)));
  const put = async (to: string, content: string | Uint8Array): Promise<void> => {
    await Deno.mkdir(dirname(join(stage, to)), { recursive: true });
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    await Deno.writeFile(join(stage, to), bytes);
  };
  for (const [each, text] of pages) await put(each, text);
  for (const each of files) await put(`public/${each}`, await Deno.readFile(join(from, each)));
  for await (const each of ["config.mjs", "theme/index.mjs", "theme/site.css"]) {
    await put(`.vitepress/${each}`, await Deno.readTextFile(join(OWN, each)));
  }
  await put("index.md", await Deno.readTextFile(join(OWN, "index.md")));
  const site = {
    base: base + path,
    outDir: join(OUT, path),
    version: name,
    // From this version to the others.
    up: path === "" ? "" : "../",
    versions: versions.map((each) => ({ text: each.name, path: each.path })),
    sidebar: menu(pages),
  };
  await put(".vitepress/site.json", JSON.stringify(site));
  await deno("run", "-A", "--frozen", "--quiet", libraries.imports.vitepress, "build", "stage");
}

/** Runs Deno in the folder of the site's own libraries. @throws {Error} with what it printed */
async function deno(...args: string[]): Promise<void> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args,
    cwd: WORK,
    // Links to these are to files, and not to pages without their ending.
    env: { NO_COLOR: "1", CI: "true", VITE_EXTRA_EXTENSIONS: "proto,py,ts,sh,json,txt" },
  }).output();
  if (success) return;
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  throw new Error(`deno ${args.join(" ")}:\n${text(stdout)}${text(stderr)}`);
}

async function filesBelow(folder: string, path = ""): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(join(folder, path))) {
    const inner = path === "" ? name : `${path}/${name}`;
    if (isDirectory) found.push(...await filesBelow(folder, inner));
    else found.push(inner);
  }
  return found.sort();
}

function exists(path: string): boolean {
  try {
    return Deno.statSync(path).isFile;
  } catch {
    return false;
  }
}

try {
  await main();
} catch (error) {
  process.stderr.write(`site: ${toError(error).message}\n`);
  process.exitCode = 1;
}
