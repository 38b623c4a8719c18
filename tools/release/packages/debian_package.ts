import { join } from "node:path";
import {
  type Hook,
  isPackaged,
  MAINTAINER,
  packageContents,
  type PackageLayout,
  type PackageOptions,
  packageVersion,
} from "./contents.ts";
import { writeDebianPackage } from "./debian_archive.ts";

/** Debian's name of a platform's processor. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  "linux/amd64": "amd64",
  "linux/arm64": "arm64",
};

const LAYOUT: PackageLayout = {
  units: "lib/systemd/system",
  zsh: "usr/share/zsh/vendor-completions",
  licence: (program) => `usr/share/doc/${program}/copyright`,
};

/** Name of each hook as a maintainer script, and how it finds out what is done (deb-postinst(5)). */
const SCRIPTS: Readonly<Record<Hook, readonly [string, string]>> = {
  "after-install": [
    "postinst",
    '[ "$1" = configure ] || exit 0\nif [ -n "$2" ]; then action=upgrade; else action=install; fi',
  ],
  "before-remove": ["prerm", '[ "$1" = remove ] || exit 0\naction=remove'],
  "after-remove": ["postrm", "action=$1"],
};

/** Whether there is a Debian package of a program for a platform. */
export function hasDebianPackage(program: string, platform: string): boolean {
  return isPackaged(program) && ARCHITECTURES[platform] !== undefined;
}

/**
 * Makes the Debian package of a program.
 *
 * @param binary the compiled program
 * @param folder where the package goes
 * @returns its path, `…/machine-server_1.2.3_amd64.deb`
 */
export async function makeDebianPackage(
  { program, platform, binary }: { program: string; platform: string; binary: string },
  folder: string,
  options: PackageOptions,
): Promise<string> {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) throw new Error(`no Debian package for ${platform}`);
  const contents = await packageContents({ program, binary }, options, LAYOUT);
  const scripts = Object.fromEntries(
    Object.entries(contents.hooks).map(([hook, text]) => {
      const [name, prelude] = SCRIPTS[hook as Hook];
      return [name, `#!/bin/sh\nset -e\n${prelude}\n${text}`];
    }),
  );
  const version = packageVersion(options.version);
  const needed = contents.needsDatabase
    ? ["libc6 (>= 2.34)", "libstdc++6 (>= 11)"]
    : ["libc6 (>= 2.27)"];
  if (contents.needsSystemd) needed.push("systemd");
  if (contents.needsUser) needed.push("passwd");
  const control = {
    Package: program,
    Version: version,
    Architecture: architecture,
    Maintainer: MAINTAINER,
    Section: "admin",
    Priority: "optional",
    Depends: needed.join(", "),
    ...(contents.conflicts === undefined ? {} : { Conflicts: contents.conflicts }),
    Description: `${contents.summary}\n ${contents.text}`,
  };
  const path = join(folder, `${program}_${version}_${architecture}.deb`);
  await Deno.mkdir(folder, { recursive: true });
  const work = await Deno.makeTempDir({ dir: folder, prefix: ".package-" });
  try {
    const { configurationFiles: conffiles, files } = contents;
    const content = { control, scripts, conffiles, files, time: options.time };
    await writeDebianPackage(join(work, "package"), content, work);
    await Deno.rename(join(work, "package"), path);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return path;
}
