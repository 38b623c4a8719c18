import { Buffer } from "node:buffer";
import { join } from "node:path";
import { archive } from "../archive.ts";
import { type PackagedFile, placeFiles } from "./contents.ts";

export interface DebianPackage {
  /** Fields of the control file but `Installed-Size`, in their order. */
  readonly control: Readonly<Record<string, string>>;
  /** Maintainer scripts by name: `postinst`. */
  readonly scripts: Readonly<Record<string, string>>;
  /** Absolute paths of configuration files, which an upgrade leaves as they were changed. */
  readonly conffiles: readonly string[];
  readonly files: readonly PackagedFile[];
  /** Time of all files in it, so that two builds are the same. */
  readonly time: Date;
}

/**
 * Writes a Debian package (deb(5)): an ar archive of the version, the control files and the data.
 *
 * @param work an empty folder on the same file system
 */
export async function writeDebianPackage(
  path: string,
  { control, scripts, conffiles, files, time }: DebianPackage,
  work: string,
): Promise<void> {
  const data = join(work, "data");
  await placeFiles(data, files);
  let bytes = 0;
  for (const { path } of files) bytes += (await Deno.stat(join(data, path))).size;
  const meta = join(work, "control");
  await Deno.mkdir(meta);
  const fields = { ...control, "Installed-Size": String(Math.ceil(bytes / 1024)) };
  const text = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`).join("");
  await Deno.writeTextFile(join(meta, "control"), text);
  if (conffiles.length > 0) {
    await Deno.writeTextFile(
      join(meta, "conffiles"),
      conffiles.map((each) => `${each}\n`).join(""),
    );
  }
  for (const [name, script] of Object.entries(scripts)) {
    await Deno.writeTextFile(join(meta, name), script);
    await Deno.chmod(join(meta, name), 0o755);
  }
  await archive(meta, join(work, "control.tar.gz"), { time });
  await archive(data, join(work, "data.tar.gz"), { time });
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  const write = async (content: Uint8Array) => {
    for (let at = 0; at < content.length;) at += await file.write(content.subarray(at));
  };
  await write(Buffer.from("!<arch>\n"));
  const members: [string, Uint8Array][] = [
    ["debian-binary", Buffer.from("2.0\n")],
    ["control.tar.gz", await Deno.readFile(join(work, "control.tar.gz"))],
    ["data.tar.gz", await Deno.readFile(join(work, "data.tar.gz"))],
  ];
  for (const [name, content] of members) {
    await write(memberHeader(name, content.length, time));
    await write(content);
    if (content.length % 2 === 1) await write(Buffer.from("\n"));
  }
}

/** ar(5): 60 characters. */
function memberHeader(name: string, size: number, time: Date): Uint8Array {
  const seconds = String(Math.floor(time.getTime() / 1000));
  const fields = [name.padEnd(16), seconds.padEnd(12), "0".padEnd(6), "0".padEnd(6)];
  return Buffer.from(`${fields.join("")}${"100644".padEnd(8)}${String(size).padEnd(10)}\`\n`);
}
