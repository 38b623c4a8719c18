import { join } from "node:path";

/** The user that programs run as in the images. */
export const USER_ID = 10001;

/** Debian's folders that are links into `/usr`; packages name them either way. */
const MERGED = { bin: "usr/bin", sbin: "usr/sbin", lib: "usr/lib", lib64: "usr/lib64" };
/** What nobody reads in a container. Licences stay. */
const USELESS = [
  ...["usr/share/man", "usr/share/info", "usr/share/locale", "usr/share/lintian"],
  ...["usr/share/bash-completion", "usr/share/doc-base", "usr/share/pixmaps", "usr/share/menu"],
];
const ACCOUNTS = {
  "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n" +
    `machine:x:${USER_ID}:${USER_ID}:machine:/data:/bin/sh\n` +
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
  "etc/group": `root:x:0:\nmachine:x:${USER_ID}:\nnogroup:x:65534:\n`,
  "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nservices: files\n",
};

/**
 * Unpacks Debian packages into a folder, without running what is in them: it is the same on every
 * host, for every processor. What their scripts would do is done here where it matters.
 *
 * @throws {Error} with what dpkg or tar said
 */
export async function unpackPackages(files: readonly string[], root: string): Promise<void> {
  for (const [link, target] of Object.entries(MERGED)) {
    await Deno.mkdir(join(root, target), { recursive: true });
    await Deno.symlink(target, join(root, link));
  }
  const known = join(root, "var", "lib", "dpkg", "status.d");
  await Deno.mkdir(known, { recursive: true });
  for (const file of files) {
    await run("/bin/sh", [
      ...[
        "-c",
        'dpkg-deb --fsys-tarfile "$1" | tar -x --keep-directory-symlink -C "$2" --no-same-owner',
      ],
      ...["sh", file, root],
    ]);
    // Where scanners for known weaknesses look.
    const control = await run("dpkg-deb", ["--field", file]);
    const name = /^Package: (\S+)$/m.exec(control)?.[1] ?? "";
    await Deno.writeTextFile(join(known, name), control);
  }
  for (const path of USELESS) await remove(join(root, path));
  await keepLicences(join(root, "usr", "share", "doc"));
}

/** Accounts, certificates and names, which are the same in every image. */
export async function finishBase(root: string): Promise<void> {
  for (const [path, text] of Object.entries(ACCOUNTS)) {
    await Deno.writeTextFile(join(root, path), text);
  }
  const folder = join(root, "usr", "share", "ca-certificates", "mozilla");
  const names = (await Array.fromAsync(Deno.readDir(folder))).map(({ name }) => name).sort();
  const certificates = [];
  for (const name of names) certificates.push(await Deno.readTextFile(join(folder, name)));
  await Deno.mkdir(join(root, "etc", "ssl", "certs"), { recursive: true });
  await Deno.writeTextFile(
    join(root, "etc", "ssl", "certs", "ca-certificates.crt"),
    certificates.join(""),
  );
}

/** A shell under its usual name, and a Python that installs without asking Debian. */
export async function finishTools(root: string): Promise<void> {
  const shell = join(root, "usr", "bin", "sh");
  await remove(shell);
  await Deno.symlink("dash", shell);
  await remove(join(root, "usr", "lib", "python3.11", "EXTERNALLY-MANAGED"));
}

async function keepLicences(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (!isDirectory) continue; // A link to the licence of another package.
    for await (const entry of Deno.readDir(path)) {
      if (entry.name !== "copyright") await remove(join(path, entry.name));
    }
  }
}

async function remove(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(program, { args: [...args] }).output();
  if (success) return new TextDecoder().decode(stdout);
  throw new Error(`${program}: ${new TextDecoder().decode(stderr).trim()}`);
}
