import assert from "node:assert/strict";
import { join } from "node:path";
import { Pins } from "./compile/pins.ts";

const TOOLS = import.meta.dirname ?? ".";
const VERSION = new Pins(await Deno.readTextFile(join(TOOLS, "pins.txt"))).versionFor("toolchain");
const UNIX_X64 = Deno.build.os === "linux" && Deno.build.arch === "x86_64";

/** Runs find_deno.sh in a checkout of its own, where `npm` and `curl` are the given scripts. */
async function find(
  stubs: { npm?: string; curl?: string; deno?: string },
): Promise<{ code: number; stdout: string; stderr: string; left: string[] }> {
  const root = await Deno.realPath(await Deno.makeTempDir());
  try {
    await Deno.mkdir(join(root, "tools"));
    for (const file of ["find_deno.sh", "pins.txt"]) {
      await Deno.copyFile(join(TOOLS, file), join(root, "tools", file));
    }
    // Only what the script may rely on, so that a real npm or curl is never asked.
    const bin = join(root, "bin");
    await Deno.mkdir(bin);
    for (const tool of NEEDED) await Deno.symlink(await which(tool), join(bin, tool));
    for (const [name, body] of Object.entries(stubs)) {
      await Deno.writeTextFile(join(bin, name), `#!/bin/sh\n${body}\n`, { mode: 0o755 });
    }
    const { code, stdout, stderr } = await new Deno.Command(join(root, "tools/find_deno.sh"), {
      env: { PATH: bin },
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).replaceAll(root, "ROOT");
    const left: string[] = [];
    await Deno.mkdir(join(root, ".tools"), { recursive: true });
    for await (const entry of Deno.readDir(join(root, ".tools"))) left.push(entry.name);
    return { code, stdout: text(stdout), stderr: text(stderr), left };
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const NEEDED = [
  ...["awk", "cat", "chmod", "dirname", "find", "grep", "gzip", "head", "mkdir", "mktemp", "mv"],
  ...["rm", "sh", "sha256sum", "sha512sum", "tail", "tar", "uname"],
];

async function which(tool: string): Promise<string> {
  for (const dir of ["/usr/bin", "/bin"]) {
    const path = join(dir, tool);
    if (await Deno.stat(path).then(() => true, () => false)) return path;
  }
  throw new Error(`this test needs ${tool}`);
}

Deno.test({
  name: "find_deno.sh says what to do when there is neither npm nor curl",
  ignore: !UNIX_X64,
  fn: async () => {
    const { code, stderr, left } = await find({});
    assert.equal(code, 1);
    assert.match(
      stderr,
      /cannot get Deno [\d.]+ \(npm: there is no npm; download: there is no curl\)/,
    );
    assert.match(stderr, /PATH/);
    assert.deepEqual(left, []);
  },
});

Deno.test({
  name: "find_deno.sh installs nothing when npm gives something else than what is pinned",
  ignore: !UNIX_X64,
  fn: async () => {
    const { code, stdout, stderr, left } = await find({ npm: "echo changed > deno.tgz" });
    assert.equal(code, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /is not what tools\/pins.txt expects/);
    assert.deepEqual(left, []);
  },
});

Deno.test({
  name: "find_deno.sh installs nothing when the download is something else than what is pinned",
  ignore: !UNIX_X64,
  fn: async () => {
    const curl =
      `while [ $# -gt 0 ]; do [ "$1" = --output ] && echo changed | gzip -c >"$2"; shift; done`;
    const { code, stderr, left } = await find({ npm: "echo npm error code E500; exit 1", curl });
    assert.equal(code, 1);
    assert.match(stderr, /fetching Deno [\d.]+ from npm/);
    assert.match(
      stderr,
      /deno-x86_64-unknown-linux-gnu [\d.]+ is not what tools\/pins.txt expects/,
    );
    assert.deepEqual(left, []);
  },
});

Deno.test({
  name: "find_deno.sh takes the one on PATH only when its version is the pinned one",
  ignore: !UNIX_X64,
  fn: async () => {
    const pinned = await find({ deno: `echo "deno ${VERSION}"` });
    assert.equal(pinned.stdout, "ROOT/bin/deno\n");
    const other = await find({ deno: `echo "deno ${VERSION}1"` });
    assert.equal(other.code, 1);
    assert.equal(other.stdout, "");
  },
});
