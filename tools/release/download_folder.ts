import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { type ChannelFile, expiryOf } from "../../shared/transfer/releases/channel_file.ts";
import { signedText } from "../../shared/transfer/releases/manifest.ts";
import { packageManagerFiles } from "./manifests/manifests.ts";
import type { SigningKey } from "./signing_key.ts";
import { isStable } from "./version.ts";

/** A compiled program that goes into a release. */
export interface ReleaseProgram {
  /** `machine-server` */
  readonly program: string;
  /** `linux/amd64` */
  readonly platform: string;
  /** Where it was built. */
  readonly file: string;
}

export interface Release {
  readonly version: string;
  /** `2026-01-31` */
  readonly date: string;
  readonly commit: string;
  readonly notes: string;
  readonly programs: readonly ReleaseProgram[];
  /** Further files, each with its place in the folder: `debian/machine_1.2.3_amd64.deb`. */
  readonly packages: readonly { readonly path: string; readonly file: string }[];
  /**
   * Where the folder is served, for the files of package managers: `https://downloads.example`.
   * None are made without.
   */
  readonly url?: string;
  /** Text of the bill of materials. */
  readonly bill: string;
}

/** First part of a program's path. */
const FOLDERS: Readonly<Record<string, string>> = {
  "machine-server": "server",
  "machine-agent": "agent",
  "machine-cloud": "cloud",
  "machine": "cli",
};

/**
 * Writes a release into a folder that any web server or bucket can serve, as docs/download.md
 * describes it. What names the newest release is written last, so that a folder that is copied or
 * served meanwhile never names what is not there.
 *
 * @param installers files for the top of the folder: `install.sh`
 * @throws {Error} when the folder has this version with other contents: a release never changes
 */
export async function writeRelease(
  folder: string,
  release: Release,
  key: SigningKey,
  installers: readonly string[],
): Promise<void> {
  const { version } = release;
  const channel = isStable(version) ? "stable" : "dev";
  const files: ChannelFile["files"] = [];
  const latest = new Map<string, string | Uint8Array>();
  const built = new Map<string, string>();
  for (const { program, platform, file } of release.programs) {
    const top = FOLDERS[program];
    if (top === undefined) throw new Error(`tools/release has no folder for ${program}`);
    const name = platform.startsWith("windows/") ? `${program}.exe` : program;
    const path = `${top}/${version}/${platform}/${name}`;
    const { size, sha256 } = await hashOf(file);
    const manifest = signedText({ binary: program, version, platform, size, sha256 });
    const signature = key.sign(manifest);
    built.set(path, file);
    files.push({ program, platform, path, size, sha256 });
    for (const place of [path, `${top}/${channel}/${platform}/${name}`]) {
      latest.set(`${place}.manifest`, manifest).set(`${place}.sig`, signature);
    }
  }
  const summed: { path: string; sha256: string }[] = [...files];
  for (const { path, file } of release.packages) {
    built.set(path, file);
    summed.push({ path, sha256: (await hashOf(file)).sha256 });
  }
  const sums = summed.map(({ sha256, path }) => `${sha256}  ${path}\n`).sort().join("");
  await refuseOther(join(folder, "releases", version, "SHA256SUMS"), sums, version);

  for (const [path, file] of built) await copy(file, join(folder, path));
  const managers = release.url
    ? packageManagerFiles({ sums, version, date: release.date, url: release.url })
    : {};
  const records = {
    ...managers,
    SHA256SUMS: sums,
    "NOTES.md": `${release.notes}\n`,
    "sbom.cdx.json": release.bill,
  };
  for (const [name, text] of Object.entries(records)) {
    await writeSigned(join(folder, "releases", version, name), text, key, `version:${version}`);
  }
  for (const path of installers) {
    await copy(path, join(folder, path.slice(dirname(path).length + 1)));
  }
  if (isStable(version)) {
    for (const [path, text] of Object.entries(managers)) {
      // Those of WinGet are for one version.
      if (!path.startsWith("winget/")) await write(join(folder, path), text);
    }
  }
  await write(join(folder, "release-key.pub"), key.publicFile);
  await write(join(folder, "release-key.pem"), key.publicPem);
  for (const [path, content] of latest) await write(join(folder, path), content);
  const newest: ChannelFile = {
    format: "machine releases 1",
    ...{ channel, version, released: release.date, expires: expiryOf(release.date) },
    commit: release.commit,
    ...{ notes: release.notes, files },
  };
  const text = `${JSON.stringify(newest, null, 2)}\n`;
  await writeSigned(join(folder, `${channel}.json`), text, key, `version:${version}`);
}

async function refuseOther(path: string, sums: string, version: string): Promise<void> {
  const known = await Deno.readTextFile(path).catch(() => undefined);
  if (known === undefined || known === sums) return;
  throw new Error(
    `${path} has a release ${version} with other files; a release is never changed: take the next ` +
      "version, or remove the folder when nobody has downloaded from it",
  );
}

async function writeSigned(
  path: string,
  text: string,
  key: SigningKey,
  comment: string,
): Promise<void> {
  await write(`${path}.minisig`, key.minisign(new TextEncoder().encode(text), comment));
  await write(path, text);
}

async function write(path: string, content: string | Uint8Array): Promise<void> {
  await Deno.mkdir(dirname(path), { recursive: true });
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  await Deno.writeFile(`${path}.new`, bytes);
  await Deno.rename(`${path}.new`, path);
}

async function copy(from: string, to: string): Promise<void> {
  await Deno.mkdir(dirname(to), { recursive: true });
  await Deno.copyFile(from, `${to}.new`);
  await Deno.rename(`${to}.new`, to);
}

async function hashOf(path: string): Promise<{ size: number; sha256: string }> {
  const hash = createHash("sha256");
  using file = await Deno.open(path);
  let size = 0;
  for await (const piece of file.readable) {
    hash.update(piece);
    size += piece.length;
  }
  return { size, sha256: hash.digest("hex") };
}
