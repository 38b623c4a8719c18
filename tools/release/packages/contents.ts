import { join } from "node:path";

/** A file in a package. */
export interface PackagedFile {
  /** Where it goes, without the first slash: `usr/bin/machine`. */
  readonly path: string;
  /** File to copy, or the bytes. */
  readonly from: string | Uint8Array;
  /** Permissions, 0o644 by default. */
  readonly mode?: number;
}

/**
 * What is run on the host. Each is text of a shell script under `set -e`, with the variable `action`:
 * `install` or `upgrade` after an installation, `remove` before and after a removal, and for Debian
 * `purge` when the configuration goes, too.
 */
export type Hook = "after-install" | "before-remove" | "after-remove";

const HOOKS: readonly string[] = [
  "after-install",
  "before-remove",
  "after-remove",
] satisfies Hook[];

/** How packages of one kind name what is the same in all of them. */
export interface PackageLayout {
  /** Folder of systemd's units, without the first slash. */
  readonly units: string;
  /** Folder of zsh's completions of packages. */
  readonly zsh: string;
  /** Where the text of the licence goes. */
  readonly licence: (program: string) => string;
}

/** What is in the package of a program, whatever kind of package it is. */
export interface PackageContents {
  /** One line. */
  readonly summary: string;
  /** One more line. */
  readonly text: string;
  /** A program of this name cannot be installed at the same time. */
  readonly conflicts: string | undefined;
  /** It has a service of systemd. */
  readonly needsSystemd: boolean;
  /** It makes a user. */
  readonly needsUser: boolean;
  /** It opens databases, by a library that needs newer system libraries than the runtime does. */
  readonly needsDatabase: boolean;
  readonly hooks: Readonly<Partial<Record<Hook, string>>>;
  /** Absolute paths of configuration files, which an upgrade leaves as they were changed. */
  readonly configurationFiles: readonly string[];
  readonly files: readonly PackagedFile[];
}

type Description =
  & Pick<PackageContents, "summary" | "text">
  & Partial<Pick<PackageContents, "conflicts" | "needsSystemd" | "needsUser" | "needsDatabase">>
  & { readonly program: string };

/** By program; what else is in them lies in a folder of that name next to this file. */
const PROGRAMS: Readonly<Record<string, Description>> = {
  "machine-server": {
    summary: "runs one machine's resources, modules, data and logs",
    text: "Serves sensors, cameras, motors and other resources to programs, over gRPC and WebRTC.",
    program: "usr/bin/machine-server",
    conflicts: "machine-agent",
    needsDatabase: true,
  },
  "machine-agent": {
    summary: "installs, updates and watches machine-server",
    text: "Keeps a machine's software up to date, joins networks and applies system settings.",
    program: "usr/lib/machine-agent/machine-agent",
    conflicts: "machine-server",
    needsSystemd: true,
    needsDatabase: true,
  },
  "machine-cloud": {
    summary: "control plane for a fleet of machines",
    text:
      "Configuration with history, logs, data, triggers, releases, and a console in the browser.",
    program: "usr/bin/machine-cloud",
    needsUser: true,
    needsDatabase: true,
  },
  "machine": {
    summary: "command line for a fleet of machines",
    text: "Machines, configurations, logs, a shell on a machine, file copies, data and training.",
    program: "usr/bin/machine",
  },
};

/** Who makes the packages. */
export const MAINTAINER = "The machine authors <machine@localhost>";

/** What all packages of a release have in common. */
export interface PackageOptions {
  /** `1.2.3` or `1.2.3-rc.1` */
  readonly version: string;
  /** The commit's; all files have it, so that two builds are the same. */
  readonly time: Date;
  /** Text of the licence. */
  readonly licence: string;
  /** Completions of `machine` by shell, `bash`, `zsh` and `fish`; none for other programs. */
  readonly completions: Readonly<Record<string, string>>;
}

/** Whether there are packages of a program. */
export function isPackaged(program: string): boolean {
  return PROGRAMS[program] !== undefined;
}

/** Version of a package, Debian's or RPM's: a candidate, `1.2.3~rc.1`, is older than its release. */
export function packageVersion(version: string): string {
  return version.replace("-", "~");
}

/**
 * Puts together what is in the package of a program.
 *
 * @param binary the compiled program
 */
export async function packageContents(
  { program, binary }: { program: string; binary: string },
  { licence, completions }: PackageOptions,
  layout: PackageLayout,
): Promise<PackageContents> {
  const description = PROGRAMS[program];
  if (!description) throw new Error(`there is no package of ${program}`);
  const own = join(import.meta.dirname ?? ".", program);
  const hooks: Record<string, string> = {};
  const configurationFiles: string[] = [];
  const files: PackagedFile[] = [
    { path: description.program, from: binary, mode: 0o755 },
    { path: layout.licence(program), from: new TextEncoder().encode(licence) },
  ];
  for await (const { name } of Deno.readDir(own)) {
    const from = join(own, name);
    if (HOOKS.includes(name)) hooks[name] = await Deno.readTextFile(from);
    else if (name === "default") {
      // It can hold passwords.
      files.push({ path: `etc/default/${program}`, from, mode: 0o600 });
      configurationFiles.push(`/etc/default/${program}`);
    } else if (name.endsWith(".service")) files.push({ path: `${layout.units}/${name}`, from });
    else files.push({ path: `usr/share/doc/${program}/${name}`, from });
  }
  if (program === "machine") files.push(...completionFiles(completions, layout));
  const { summary, text, conflicts, needsSystemd, needsUser, needsDatabase } = description;
  return {
    ...{ summary, text, conflicts, hooks, configurationFiles, files },
    needsSystemd: needsSystemd ?? false,
    needsUser: needsUser ?? false,
    needsDatabase: needsDatabase ?? false,
  };
}

function completionFiles(
  completions: Readonly<Record<string, string>>,
  { zsh }: PackageLayout,
): PackagedFile[] {
  const paths: Readonly<Record<string, string>> = {
    bash: "usr/share/bash-completion/completions/machine",
    zsh: `${zsh}/_machine`,
    fish: "usr/share/fish/vendor_completions.d/machine.fish",
  };
  return Object.entries(completions).map(([shell, text]) => {
    const path = paths[shell];
    if (path === undefined) throw new Error(`no place for completions of ${shell}`);
    return { path, from: new TextEncoder().encode(text) };
  });
}

/** Writes files below a folder, with their permissions whatever the umask is. */
export async function placeFiles(root: string, files: readonly PackagedFile[]): Promise<void> {
  for (const { path, from, mode = 0o644 } of files) {
    const parts = path.split("/");
    for (const at of parts.slice(0, -1).keys()) {
      const folder = join(root, ...parts.slice(0, at + 1));
      await Deno.mkdir(folder, { recursive: true });
      await Deno.chmod(folder, 0o755);
    }
    const target = join(root, path);
    if (typeof from === "string") await Deno.copyFile(from, target);
    else await Deno.writeFile(target, from);
    await Deno.chmod(target, mode);
  }
}
