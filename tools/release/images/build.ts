import { join } from "node:path";
import type { Compiled } from "../../compile/compile_all.ts";
import { ROOT } from "../../programs.ts";
import { isThere, TOOLS as HOST_TOOLS } from "../../../shared/test_tools/tools.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { Apt, hostSources, sumOf } from "./apt.ts";
import { makeImages } from "./images.ts";
import { BASE, LEFT_OUT, type PinnedPackage, pinsText, readPins, TOOLS } from "./pins.ts";

const ARCHITECTURES = ["amd64", "arm64"];
const PINS = join(ROOT, "tools", "release", "images", "packages.txt");
/** Packages are kept, so that the next build needs no network. */
const KEPT = join(ROOT, ".tools", "debian");

/** An apt sources file that is taken in place of this host's. */
const givenSources = (): string | undefined => Deno.env.get("IMAGE_SOURCES") || undefined;

/** Debian's apt of this clone. */
function openApt(): Promise<Apt> {
  return Apt.open(KEPT, givenSources());
}

/** Why no images can be made here; undefined when they can. */
export async function noImagesBecause(): Promise<string | undefined> {
  if (!isThere(HOST_TOOLS.dpkg) || !isThere({ finds: ["apt-get", "tar"], packages: [] })) {
    return "there is no apt-get and dpkg here";
  }
  if (givenSources() !== undefined) return undefined;
  return await hostSources().then(() => undefined, (error) => toError(error).message);
}

/**
 * Makes the images of compiled programs into `dist/images/`.
 *
 * @param made has machine-cloud and machine-server for the processors that the images are for
 * @returns paths of the archives
 */
export async function buildImages(
  made: readonly Pick<Compiled, "program" | "target" | "file">[],
  { version, commit, time }: { version: string; commit: string; time: Date },
): Promise<string[]> {
  const fileOf = new Map(
    made.map(({ program, target, file }) => [`${program.name} ${target.platform}`, file]),
  );
  const pins = readPins(await Deno.readTextFile(PINS));
  const apt = await openApt();
  if (!await apt.hasLists()) await apt.update();
  const folder = join(ROOT, "dist");
  await Deno.mkdir(folder, { recursive: true });
  const work = await Deno.makeTempDir({ dir: folder, prefix: ".images-" });
  // Others have to read what is in an image, however secret this process keeps its own files.
  const umask = Deno.umask(0o022);
  try {
    return await makeImages(join(folder, "images"), {
      ...{ version, commit, time, pins, apt, work },
      architectures: ARCHITECTURES.filter((each) => fileOf.has(`machine-cloud linux/${each}`)),
      binaryOf(program, architecture) {
        const file = fileOf.get(`${program} linux/${architecture}`);
        if (file === undefined) throw new Error(`${program} was not compiled for ${architecture}`);
        return file;
      },
    });
  } finally {
    Deno.umask(umask);
    await Deno.remove(work, { recursive: true });
  }
}

/** Writes `packages.txt` with the newest versions. @returns its path */
export async function pinPackages(): Promise<string> {
  const apt = await openApt();
  await apt.update();
  const packages: PinnedPackage[] = [];
  for (const architecture of ARCHITECTURES) {
    const all = (await apt.resolve(architecture, [...BASE, ...TOOLS]))
      .filter(({ name }) => !LEFT_OUT.has(name));
    const files = await apt.download(architecture, all);
    for (const [at, { name, version }] of all.entries()) {
      const layer = BASE.includes(name) ? "base" : "tools";
      packages.push({ layer, architecture, name, version, sha256: await sumOf(files[at]!) });
    }
  }
  packages.sort((a, b) => lineOf(a) < lineOf(b) ? -1 : 1);
  await Deno.writeTextFile(PINS, pinsText({ time: new Date(), packages }));
  return PINS;
}

const lineOf = ({ layer, architecture, name }: PinnedPackage): string =>
  `${layer} ${architecture} ${name}`;
