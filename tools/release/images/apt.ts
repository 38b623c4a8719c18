import { createHash } from "node:crypto";
import { join } from "node:path";
import type { PinnedPackage } from "./pins.ts";

/** A file of a package, as apt names it: the version's colon is written `%3a`. */
export function packageFile(
  { name, version, architecture }: Omit<PinnedPackage, "sha256" | "layer">,
) {
  return new RegExp(
    `^${escape(name)}_${escape(version.replaceAll(":", "%3a"))}_(?:${architecture}|all)\\.deb$`,
  );
}

const escape = (text: string): string => text.replaceAll(/[.+*?^${}()|[\]\\]/g, "\\$&");

/**
 * Debian's own apt with a state of its own, so that it needs no root and leaves this host alone. It
 * reads the packages of another processor, too, without running them.
 */
export class Apt {
  private constructor(private readonly folder: string, private readonly sources: string) {}

  /**
   * @param folder keeps lists and packages from one time to the next
   * @param sources an apt sources file for Debian 12; undefined: those of this host, which is one
   */
  static async open(folder: string, sources: string | undefined): Promise<Apt> {
    for (const name of ["state/lists/partial", "cache/archives/partial", "etc"]) {
      await Deno.mkdir(join(folder, name), { recursive: true });
    }
    await Deno.writeTextFile(join(folder, "state", "status"), "");
    const from = sources ?? await hostSources();
    // apt goes by the ending.
    const list = join(folder, "etc", from.endsWith(".list") ? "debian.list" : "debian.sources");
    await Deno.copyFile(from, list);
    return new Apt(folder, list);
  }

  /** Reads what packages there are. Without the option apt passes where it reaches no server. */
  async update(): Promise<void> {
    await this.#run("amd64", ["update", "--error-on=any"]);
  }

  /** Whether it read before what packages there are. */
  async hasLists(): Promise<boolean> {
    const lists = await Array.fromAsync(Deno.readDir(join(this.folder, "state", "lists")));
    return lists.some(({ name }) => name.endsWith("_InRelease"));
  }

  /** Names and versions of packages with all that they need, in apt's order. */
  async resolve(
    architecture: string,
    names: readonly string[],
  ): Promise<{ name: string; version: string }[]> {
    const args = ["--simulate", "--no-install-recommends", "--yes", "install", ...names];
    const text = await this.#run(architecture, args);
    return [...text.matchAll(/^Inst (\S+?)(?::\S+)? \((\S+) /gm)]
      .map(([, name = "", version = ""]) => ({ name, version }));
  }

  /** Downloads packages that are not there yet. @returns their files, in the same order */
  async download(
    architecture: string,
    packages: readonly { readonly name: string; readonly version: string }[],
  ): Promise<string[]> {
    const missing = [];
    for (const each of packages) {
      if (await this.#file(architecture, each) === undefined) missing.push(each);
    }
    if (missing.length > 0) {
      const wanted = missing.map(({ name, version }) => `${name}:${architecture}=${version}`);
      await this.#run(architecture, ["download", ...wanted]);
    }
    const files = [];
    for (const each of packages) {
      const file = await this.#file(architecture, each);
      if (file === undefined) throw new Error(`apt did not bring ${each.name} ${each.version}`);
      files.push(file);
    }
    return files;
  }

  async #file(
    architecture: string,
    { name, version }: { readonly name: string; readonly version: string },
  ): Promise<string | undefined> {
    const form = packageFile({ name, version, architecture });
    const folder = join(this.folder, "cache", "archives");
    for await (const entry of Deno.readDir(folder)) {
      if (entry.isFile && form.test(entry.name)) return join(folder, entry.name);
    }
    return undefined;
  }

  async #run(architecture: string, args: readonly string[]): Promise<string> {
    const { folder } = this;
    const settings = {
      "Dir::Etc::SourceList": this.sources,
      "Dir::Etc::SourceParts": "/dev/null",
      "Dir::State": join(folder, "state"),
      "Dir::State::status": join(folder, "state", "status"),
      "Dir::Cache": join(folder, "cache"),
      "APT::Architecture": architecture,
      "APT::Architectures": "amd64,arm64",
      "Acquire::Languages": "none",
      "APT::Sandbox::User": "root",
    };
    const options = Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`]);
    const command = new Deno.Command("apt-get", {
      args: ["--quiet", ...options, ...args],
      cwd: join(folder, "cache", "archives"),
      stdin: "null",
    });
    const { success, stdout, stderr } = await command.output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    if (success) return text(stdout);
    throw new Error(
      `apt-get ${args.slice(0, 3).join(" ")} … failed: ${text(stderr).trim()}\n` +
        "Where a pinned version is gone, make images PIN=1 takes the newest ones.",
    );
  }
}

/** apt's sources of this host. @throws {Error} when it is no Debian 12 */
export async function hostSources(): Promise<string> {
  const release = await Deno.readTextFile("/etc/os-release").catch(() => "");
  if (/^VERSION_CODENAME="?bookworm"?$/m.test(release) && /^ID="?debian"?$/m.test(release)) {
    for (const path of ["/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"]) {
      if (await Deno.stat(path).then(() => true, () => false)) return path;
    }
  }
  throw new Error(
    "images are made of packages of Debian 12, and this host has no apt sources for it: set " +
      "IMAGE_SOURCES to a file with some, such as a Debian container's debian.sources",
  );
}

/** SHA-256 of a package. */
export async function sumOf(path: string): Promise<string> {
  return createHash("sha256").update(await Deno.readFile(path)).digest("hex");
}
