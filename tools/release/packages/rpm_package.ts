import { join } from "node:path";
import {
  type Hook,
  isPackaged,
  MAINTAINER,
  type PackageContents,
  packageContents,
  type PackagedFile,
  type PackageLayout,
  type PackageOptions,
  packageVersion,
  placeFiles,
} from "./contents.ts";

/** RPM's name of a platform's processor. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  "linux/amd64": "x86_64",
  "linux/arm64": "aarch64",
};

const LAYOUT: PackageLayout = {
  units: "usr/lib/systemd/system",
  zsh: "usr/share/zsh/site-functions",
  licence: (program) => `usr/share/licenses/${program}/LICENSE`,
};

/**
 * Name of each hook as a scriptlet, and how it finds out what is done: RPM gives how many versions
 * will be there.
 */
const SCRIPTLETS: Readonly<Record<Hook, readonly [string, string]>> = {
  "after-install": ["post", 'if [ "$1" -gt 1 ]; then action=upgrade; else action=install; fi'],
  "before-remove": ["preun", '[ "$1" = 0 ] || exit 0\naction=remove'],
  "after-remove": ["postun", 'if [ "$1" = 0 ]; then action=remove; else action=upgrade; fi'],
};

/** Files are as they are, with a time and a host that say nothing of the build. */
const MACROS: Readonly<Record<string, string>> = {
  debug_package: "%{nil}",
  __os_install_post: "%{nil}",
  _buildhost: "localhost",
  use_source_date_epoch_as_buildtime: "1",
  clamp_mtime_to_source_date_epoch: "1",
  _binary_payload: "w6.gzdio", // Every version of RPM reads it.
  _build_id_links: "none",
};

/** Whether there is an RPM package of a program for a platform. */
export function hasRpmPackage(program: string, platform: string): boolean {
  return isPackaged(program) && ARCHITECTURES[platform] !== undefined;
}

/**
 * Makes the RPM package of a program, by `rpmbuild`.
 *
 * @param binary the compiled program
 * @param folder where the package goes
 * @returns its path, `…/machine-server-1.2.3-1.x86_64.rpm`
 * @throws {Error} with what rpmbuild said
 */
export async function makeRpmPackage(
  { program, platform, binary }: { program: string; platform: string; binary: string },
  folder: string,
  options: PackageOptions,
): Promise<string> {
  const architecture = ARCHITECTURES[platform];
  if (architecture === undefined) throw new Error(`no RPM package for ${platform}`);
  const contents = await packageContents({ program, binary }, options, LAYOUT);
  await Deno.mkdir(folder, { recursive: true });
  const work = await Deno.makeTempDir({ dir: folder, prefix: ".package-" });
  const spec = join(work, "package.spec");
  try {
    await placeFiles(join(work, "files"), contents.files);
    await Deno.writeTextFile(spec, rpmSpec(program, options, contents));
    const macros = { ...MACROS, _topdir: work, _rpmdir: work, _rpmfilename: "package.rpm" };
    const { success, stderr } = await new Deno.Command("rpmbuild", {
      args: [
        ...["-bb", "--quiet", "--target", `${architecture}-linux`],
        ...["--buildroot", join(work, "root"), "--define", `_files ${join(work, "files")}`],
        ...Object.entries(macros).flatMap(([name, value]) => ["--define", `${name} ${value}`]),
        spec,
      ],
      env: { SOURCE_DATE_EPOCH: `${Math.floor(options.time.getTime() / 1000)}` },
    }).output();
    if (!success) throw new Error(`rpmbuild: ${new TextDecoder().decode(stderr).trim()}`);
    const name = `${program}-${packageVersion(options.version)}-1.${architecture}.rpm`;
    await Deno.rename(join(work, "package.rpm"), join(folder, name));
    return join(folder, name);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
}

/** What `rpmbuild` makes a package of; the files lie in the folder that the macro `_files` names. */
function rpmSpec(
  program: string,
  { version, time }: Pick<PackageOptions, "version" | "time">,
  contents: PackageContents,
): string {
  const { summary, text, conflicts, hooks, configurationFiles, files } = contents;
  const needed = contents.needsDatabase
    ? ["libc.so.6(GLIBC_2.34)(64bit)", "libstdc++.so.6(GLIBCXX_3.4.29)(64bit)"]
    : ["libc.so.6(GLIBC_2.27)(64bit)"];
  if (contents.needsSystemd) needed.push("systemd");
  const before = Object.keys(hooks).length > 0 ? ["/bin/sh"] : [];
  if (contents.needsUser) before.push("/usr/sbin/useradd");
  return [
    `Name: ${program}`,
    `Version: ${packageVersion(version)}`,
    "Release: 1",
    `Summary: ${summary[0]!.toUpperCase()}${summary.slice(1)}`,
    "License: Apache-2.0",
    "Group: System/Management",
    `Packager: ${MAINTAINER}`,
    // The runtime's other libraries come with these.
    "AutoReqProv: no",
    ...needed.map((each) => `Requires: ${each}`),
    ...before.map((each) => `Requires(post): ${each}`),
    ...(conflicts === undefined ? [] : [`Conflicts: ${conflicts}`]),
    "\n%description",
    text.replaceAll(/(.{1,78})(?: |$)/g, "$1\n").trim(),
    "\n%install",
    "mkdir -p %{buildroot}",
    "cp -a %{_files}/. %{buildroot}/",
    ...Object.entries(hooks).map(([hook, script]) => {
      const [name, prelude] = SCRIPTLETS[hook as Hook];
      return `\n%${name}\nset -e\n${prelude}\n${script.trimEnd().replaceAll("%", "%%")}`;
    }),
    "\n%files",
    "%defattr(-,root,root,-)",
    ...files.map((file) => fileLine(file, configurationFiles)),
    ...ownFolders(program, files).map((path) => `%dir ${path}`),
    "\n%changelog",
    `* ${changelogDay(time)} ${MAINTAINER} - ${packageVersion(version)}-1`,
    `- Release ${version}; its notes say what changed`,
    "",
  ].join("\n");
}

/** As rpmbuild reads it: `Sat Jan 31 2026`. */
function changelogDay(time: Date): string {
  const [week, day, month, year] = time.toUTCString().replace(",", "").split(" ");
  return `${week} ${month} ${day} ${year}`;
}

function fileLine({ path, mode = 0o644 }: PackagedFile, configuration: readonly string[]): string {
  const kind = configuration.includes(`/${path}`)
    ? "%config(noreplace) "
    : path.startsWith("usr/share/doc/")
    ? "%doc "
    : path.startsWith("usr/share/licenses/")
    ? "%license "
    : "";
  return `%attr(${mode.toString(8).padStart(4, "0")},root,root) ${kind}/${path}`;
}

/** Folders that are the package's alone, and go with it. */
function ownFolders(program: string, files: readonly PackagedFile[]): string[] {
  const folders = files.map(({ path }) => `/${path.slice(0, path.lastIndexOf("/"))}`);
  return [...new Set(folders)].filter((path) => path.endsWith(`/${program}`)).sort();
}
