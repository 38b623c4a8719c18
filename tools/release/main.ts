// make release VERSION=x.y.z KEY=FILE [URL=https://…]: checks the changelog, tags, builds everything and leaves
// dist/release/, which any web server can serve. docs/download.md says what is in it.
// PROGRAMS= and TARGETS= make a part of it, to try one.
import { basename, join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import manifest from "../../deno.json" with { type: "json" };
import { toError } from "../../shared/base/errors/to_error.ts";
import { isThere, TOOLS } from "../../shared/test_tools/tools.ts";
import { hasImage, imagePath } from "../../shared/transfer/releases/image_name.ts";
import { bundledFiles } from "../bundle/bundle.ts";
import { commitTime, gitIn } from "../bundle/build_stamp.ts";
import { buildImage, requirePacker } from "../appimage/build_image.ts";
import { compileAll, type Compiled } from "../compile/compile_all.ts";
import { type Target, targetByName, TARGETS } from "../compile/targets.ts";
import { type Program, programByName, PROGRAMS, ROOT } from "../programs.ts";
import { consolePackages } from "./console_packages.ts";
import { writeRelease } from "./download_folder.ts";
import { buildImages, noImagesBecause } from "./images/build.ts";
import { installedLicences } from "./licences.ts";
import { checkBase } from "./manifests/sums.ts";
import { makePackages } from "./packages/packages.ts";
import { billOfMaterials, type Lock, nameAndVersion, packagesOf } from "./sbom.ts";
import { SigningKey } from "./signing_key.ts";
import { tagRelease } from "./tag.ts";
import { checkVersion, notesOf } from "./version.ts";

/** The one that there are application images of. */
const IMAGE_PROGRAM = "machine-server";
const INSTALLERS = ["install.sh", "install.ps1", "uninstall.sh", "uninstall.ps1"];

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    args: Deno.args,
    allowPositionals: true,
    options: {
      programs: { type: "string", default: "" },
      targets: { type: "string", default: "" },
    },
  });
  const [version = "", keyFile = "", url = ""] = positionals;
  const parts = {
    programs: chosen(values.programs, programByName) ?? PROGRAMS,
    targets: chosen(values.targets, targetByName) ?? TARGETS,
  };
  if (version === "" || keyFile === "") {
    throw new Error("write make release VERSION=1.2.3 KEY=FILE, with a key that minisign -G made");
  }
  checkVersion(version);
  if (values.programs !== "" || values.targets !== "") say(partNotice(version, parts));
  if (url === "") say("NOTICE: no files for Homebrew, WinGet and Scoop without URL=https://…");
  else checkBase(url);
  const { date, notes } = notesOf(await Deno.readTextFile(join(ROOT, "CHANGELOG.md")), version);
  if (manifest.version !== version) {
    throw new Error(`deno.json says version ${manifest.version}; set it to ${version} and commit`);
  }
  const key = SigningKey.read(
    await Deno.readTextFile(keyFile),
    Deno.env.get("MACHINE_RELEASE_PASSWORD"),
  );
  if (needsImage(parts)) requirePacker();
  const git = gitIn(ROOT);
  const tag = await tagRelease(git, version, notes);
  try {
    await build(version, { date, notes, url, ...parts }, key);
  } catch (error) {
    await tag.undo();
    throw error;
  }
  say(`${tag.name} is built. Push the tag, and serve or copy dist/release.`);
}

/** What a list such as `cli server` or `cli,server` names; undefined when it is empty. */
function chosen<T>(names: string, find: (name: string) => T): T[] | undefined {
  const found = names.split(/[\s,]+/).filter(Boolean).map(find);
  return found.length > 0 ? found : undefined;
}

interface Parts {
  readonly programs: readonly Program[];
  readonly targets: readonly Target[];
}

function needsImage({ programs, targets }: Parts): boolean {
  return programs.some(({ name }) => name === IMAGE_PROGRAM) &&
    targets.some(({ platform }) => hasImage(platform));
}

/** Both variables may stand in the environment of who means a whole release. */
function partNotice(version: string, { programs, targets }: Parts): string {
  const names = (all: readonly { readonly name: string }[]) =>
    all.map(({ name }) => name).join(", ");
  return `NOTICE: PROGRAMS or TARGETS is set: ${version} will have ${names(programs)} only, for ` +
    `${names(targets)}; unset both for a whole release`;
}

async function build(
  version: string,
  { date, notes, url, programs: wanted, targets }:
    & { date: string; notes: string; url: string }
    & Parts,
  key: SigningKey,
): Promise<void> {
  const made = [];
  const notice = (text: string) => process.stderr.write(`NOTICE: ${text}\n`);
  for await (const one of compileAll(wanted, targets, { release: true, notice })) {
    if (one.version !== version) {
      throw new Error(`${one.file} is ${one.version} and not ${version}`);
    }
    say(`built ${one.file}`);
    made.push(one);
  }
  const [first] = made;
  if (!first) throw new Error("nothing was built");
  const lock = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.lock"))) as Lock;
  const programs = [];
  for (const program of wanted) {
    const packages = packagesOf(await bundledFiles(program, ROOT), lock);
    for (const key of Object.keys(lock.npm)) {
      if (nameAndVersion(key).name === "better-sqlite3") packages.add(key); // Its addon is.
    }
    if (program.name === "machine-cloud") {
      for (const key of await consolePackages(join(ROOT, "console"), lock)) packages.add(key);
    }
    programs.push({ name: program.name, packages });
  }
  const time = await commitTime(gitIn(ROOT));
  const bill = billOfMaterials({
    ...{ version, commit: first.commit, time, lock, programs },
    deno: first.runtime,
    licence: await installedLicences(join(ROOT, "node_modules", ".deno")),
  });
  const packages = [
    ...await packagesFor(made, { version, time }),
    ...await imagesOf(made, { version, commit: first.commit, time }),
    ...await applicationImages(made, { version, time, releaseKey: key.publicFile }),
  ];
  await writeRelease(
    join(ROOT, "dist", "release"),
    {
      ...{ version, date, notes, url, commit: first.commit },
      programs: made.map(({ program, target, file }) => (
        { program: program.name, platform: target.platform, file }
      )),
      packages,
      bill: `${JSON.stringify(bill, null, 1)}\n`,
    },
    key,
    INSTALLERS.map((name) => join(ROOT, "install", name)),
  );
}

async function packagesFor(
  made: readonly Compiled[],
  { version, time }: { version: string; time: Date },
): Promise<{ path: string; file: string }[]> {
  const licence = await Deno.readTextFile(join(ROOT, "LICENSE"));
  const completions: Record<string, string> = {};
  for (const shell of ["bash", "zsh", "fish"]) {
    const command = new Deno.Command(join(ROOT, "bin", "machine"), {
      args: ["completions", shell],
    });
    const { success, stdout, stderr } = await command.output();
    if (!success) throw new Error(`machine completions ${shell}: ${decode(stderr)}`);
    completions[shell] = decode(stdout);
  }
  const built = made.map(({ program, target, file }) => (
    { program: program.name, platform: target.platform, file }
  ));
  const options = { version, time, licence, completions };
  const tools = { hasRpmbuild: isThere(TOOLS.rpm), hasWixl: isThere(TOOLS.wixl), say };
  return await makePackages(built, join(ROOT, "dist"), options, tools);
}

async function imagesOf(
  made: readonly Compiled[],
  stamp: { version: string; commit: string; time: Date },
): Promise<{ path: string; file: string }[]> {
  const has = (name: string) => made.some(({ program }) => program.name === name);
  const reason = has("machine-cloud") && has("machine-server")
    ? await noImagesBecause()
    : "they take machine-cloud and machine-server";
  if (reason !== undefined) {
    say(`NOTICE: no container images: ${reason}`);
    return [];
  }
  const files = await buildImages(made, stamp);
  for (const file of files) say(`packed ${file}`);
  return files.map((file) => ({ path: `images/${basename(file)}`, file }));
}

async function applicationImages(
  made: readonly Compiled[],
  { version, time, releaseKey }: { version: string; time: Date; releaseKey: string },
): Promise<{ path: string; file: string }[]> {
  const images = [];
  for (const { program, target: { platform }, file: binary } of made) {
    if (program.name !== IMAGE_PROGRAM || !hasImage(platform)) continue;
    const path = imagePath(version, platform);
    const file = join(ROOT, "dist", basename(path));
    await buildImage(file, { version, platform, binary, releaseKey, time, root: ROOT });
    images.push({ path, file });
    say(`packed ${file}`);
  }
  return images;
}

const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`release: ${toError(error).message}\n`);
  process.exitCode = 1;
}
