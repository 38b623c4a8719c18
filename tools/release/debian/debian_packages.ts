import { join } from "node:path";
import { type PackagedFile, writeDebianPackage } from "./debian_archive.ts";

/** Debian's name of a platform's processor. */
const ARCHITECTURES: Readonly<Record<string, string>> = {
  "linux/amd64": "amd64",
  "linux/arm64": "arm64",
};

interface Description {
  /** One line. */
  readonly summary: string;
  /** Further lines. */
  readonly text: string;
  /** Where the program goes. */
  readonly program: string;
  /** Further fields of the control file. */
  readonly fields?: Readonly<Record<string, string>>;
}

/** The packages, by program; what else is in them lies in a folder of that name next to this file. */
const PACKAGES: Readonly<Record<string, Description>> = {
  "machine-server": {
    summary: "runs one machine's resources, modules, data and logs",
    text: "Serves sensors, cameras, motors and other resources to programs, over gRPC and WebRTC.",
    program: "usr/bin/machine-server",
    fields: { Conflicts: "machine-agent" },
  },
  "machine-agent": {
    summary: "installs, updates and watches machine-server",
    text: "Keeps a machine's software up to date, joins networks and applies system settings.",
    program: "usr/lib/machine-agent/machine-agent",
    fields: { Depends: "systemd", Conflicts: "machine-server" },
  },
  "machine-cloud": {
    summary: "control plane for a fleet of machines",
    text:
      "Configuration with history, logs, data, triggers, releases, and a console in the browser.",
    program: "usr/bin/machine-cloud",
    fields: { Depends: "passwd" },
  },
  "machine": {
    summary: "command line for a fleet of machines",
    text: "Machines, configurations, logs, a shell on a machine, file copies, data and training.",
    program: "usr/bin/machine",
  },
};

export interface DebianOptions {
  readonly version: string;
  /** The commit's. */
  readonly time: Date;
  /** Text of the licence. */
  readonly licence: string;
  /** Completions of `machine` by shell, `bash`, `zsh` and `fish`; none for other programs. */
  readonly completions: Readonly<Record<string, string>>;
}

/** Whether there is a Debian package of a program for a platform. */
export function hasDebianPackage(program: string, platform: string): boolean {
  return PACKAGES[program] !== undefined && ARCHITECTURES[platform] !== undefined;
}

/** Version of a package: a candidate, `1.2.3~rc.1`, is older than its release. */
export function debianVersion(version: string): string {
  return version.replace("-", "~");
}

/**
 * Makes the package of a program.
 *
 * @param binary the compiled program
 * @param folder where the package goes
 * @returns its path, `…/machine-server_1.2.3_amd64.deb`
 */
export async function makeDebianPackage(
  { program, platform, binary }: { program: string; platform: string; binary: string },
  folder: string,
  { version, time, licence, completions }: DebianOptions,
): Promise<string> {
  const description = PACKAGES[program];
  const architecture = ARCHITECTURES[platform];
  if (!description || !architecture) throw new Error(`no package of ${program} for ${platform}`);
  const own = join(import.meta.dirname ?? ".", program);
  const scripts: Record<string, string> = {};
  const documents = `usr/share/doc/${program}`;
  const files: PackagedFile[] = [
    { path: description.program, from: binary, mode: 0o755 },
    { path: `${documents}/copyright`, from: new TextEncoder().encode(licence) },
  ];
  const conffiles: string[] = [];
  for await (const { name } of Deno.readDir(own)) {
    const from = join(own, name);
    if (/^(pre|post)(inst|rm)$/.test(name)) scripts[name] = await Deno.readTextFile(from);
    else if (name === "default") {
      // It can hold passwords.
      files.push({ path: `etc/default/${program}`, from, mode: 0o600 });
      conffiles.push(`/etc/default/${program}`);
    } else if (name.endsWith(".service")) files.push({ path: `lib/systemd/system/${name}`, from });
    else files.push({ path: `${documents}/${name}`, from });
  }
  if (program === "machine") files.push(...completionFiles(completions));

  await Deno.mkdir(folder, { recursive: true });
  const path = join(folder, `${program}_${debianVersion(version)}_${architecture}.deb`);
  const work = await Deno.makeTempDir({ dir: folder, prefix: ".package-" });
  const control = {
    Package: program,
    Version: debianVersion(version),
    Architecture: architecture,
    Maintainer: "The machine authors <machine@localhost>",
    Section: "admin",
    Priority: "optional",
    ...description.fields,
    Description: `${description.summary}\n ${description.text}`,
  };
  try {
    const content = { control, scripts, conffiles, files, time };
    await writeDebianPackage(join(work, "package"), content, work);
    await Deno.rename(join(work, "package"), path);
  } finally {
    await Deno.remove(work, { recursive: true });
  }
  return path;
}

const COMPLETION_PATHS: Readonly<Record<string, string>> = {
  bash: "usr/share/bash-completion/completions/machine",
  zsh: "usr/share/zsh/vendor-completions/_machine",
  fish: "usr/share/fish/vendor_completions.d/machine.fish",
};

function completionFiles(completions: Readonly<Record<string, string>>): PackagedFile[] {
  return Object.entries(completions).map(([shell, text]) => {
    const path = COMPLETION_PATHS[shell];
    if (path === undefined) throw new Error(`no place for completions of ${shell}`);
    return { path, from: new TextEncoder().encode(text) };
  });
}
