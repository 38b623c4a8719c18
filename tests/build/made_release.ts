/** A release as `make release` makes it, of one small program for this host. */
import assert from "node:assert/strict";
import { createHash, createPublicKey, verify } from "node:crypto";
import { join } from "node:path";
import { parseChannelFile } from "../../shared/transfer/releases/channel_file.ts";
import { readMinisignPublicKey, verifyMinisign } from "../../shared/transfer/releases/minisign.ts";
import { isThere, TOOLS } from "../../shared/test_tools/tools.ts";
import { hostTarget } from "../../tools/compile/targets.ts";
import { SigningKey } from "../../tools/release/signing_key.ts";
import { secretKeyFile } from "../../tools/release/testing.ts";
import type { Clone } from "./clone.ts";

const VERSION = "0.0.7";

/** Refuses a release that is not written down, then makes one twice and looks at all of it. */
export async function makeReleaseTwice(clone: Clone, dir: string): Promise<void> {
  const keyFile = join(dir, "release-key");
  const secret = secretKeyFile();
  await Deno.writeTextFile(keyFile, secret);

  const refused = await clone.release(VERSION, keyFile);
  assert.notEqual(refused.code, 0);
  assert.match(refused.said, /release: CHANGELOG\.md has no section 0\.0\.7/);
  assert.match(refused.said, /NOTICE: PROGRAMS or TARGETS is set: 0\.0\.7 will have machine only/);
  await writeDown(clone);
  const { code, said } = await clone.release(VERSION, keyFile);
  assert.equal(code, 0, said);
  assert.equal(await clone.git("describe", "--exact-match"), `v${VERSION}`);

  const folder = clone.path("dist", "release");
  const first = await sumsOf(folder);
  await checkFolder(folder, await clone.git("rev-parse", "HEAD"), [...first.keys()]);
  const publicKey = SigningKey.read(secret, undefined).publicFile;
  assert.equal(await Deno.readTextFile(join(folder, "release-key.pub")), publicKey);

  // As on another computer: the tag is there, and nothing was built.
  await Deno.remove(clone.path("dist"), { recursive: true });
  await Deno.remove(clone.path(".tools", "bundle"), { recursive: true });
  const again = await clone.release(VERSION, keyFile);
  assert.equal(again.code, 0, again.said);
  const second = await sumsOf(folder);
  const differ = [...first].filter(([path, sum]) => second.get(path) !== sum);
  assert.deepEqual(differ, [], "files that differ in two builds");
  assert.equal(second.size, first.size);
}

/** Names the version in deno.json and the changelog, and commits both. */
async function writeDown(clone: Clone): Promise<void> {
  const edit = async (name: string, change: (text: string) => string): Promise<void> => {
    const text = await Deno.readTextFile(clone.path(name));
    await Deno.writeTextFile(clone.path(name), change(text));
  };
  await edit("deno.json", (text) => text.replace(/"version": "[^"]+"/, `"version": "${VERSION}"`));
  await edit(
    "CHANGELOG.md",
    (text) => text.replace(/^## \[/m, `## [${VERSION}] - 2026-01-31\n\n- Wheels.\n\n$&`),
  );
  await clone.git("commit", "--quiet", "--all", "-m", "a version");
}

/** Checks what docs/download.md says of a folder, as somebody who downloads from it. */
async function checkFolder(folder: string, commit: string, paths: string[]): Promise<void> {
  const read = (path: string) => Deno.readTextFile(join(folder, path));
  const publicKey = readMinisignPublicKey(await read("release-key.pub"));
  const signed = async (path: string): Promise<string> => {
    const text = await read(path);
    const comment = verifyMinisign(
      publicKey,
      new TextEncoder().encode(text),
      await read(`${path}.minisig`),
    );
    assert.equal(comment, `version:${VERSION}`, path);
    return text;
  };
  const records = `releases/${VERSION}`;
  const sums = await signed(`${records}/SHA256SUMS`);
  assert.equal(await signed(`${records}/NOTES.md`), "- Wheels.\n");
  const stable = parseChannelFile(await signed("stable.json"));
  const { platform } = hostTarget();
  const program = `cli/${VERSION}/${platform}/machine`;
  assert.equal(stable.version, VERSION);
  assert.ok(stable.commit !== "" && commit.startsWith(stable.commit), stable.commit);
  assert.deepEqual(stable.files.map(({ path }) => path), [program]);

  for (const [sum, path] of sums.trim().split("\n").map((line) => line.split("  "))) {
    assert.equal(await sumOf(join(folder, path!)), sum, `${path} has another sum`);
  }
  for (
    const [hasOne, pattern] of [
      [true, /^debian\/machine_0\.0\.7_\w+\.deb$/],
      [isThere(TOOLS.rpm), /^rpm\/machine-0\.0\.7-1\.\w+\.rpm$/],
      [true, /^releases\/0\.0\.7\/homebrew\/machine\.rb$/],
      [true, /^homebrew\/machine\.rb$/],
      [true, /^(un)?install\.(sh|ps1)$/],
    ] as const
  ) {
    assert.equal(paths.some((path) => pattern.test(path)), hasOne, `${pattern}: ${paths}`);
  }
  for (const path of paths.filter((path) => /^(debian|rpm|cli)\/.*(deb|rpm|machine)$/.test(path))) {
    assert.ok(sums.includes(`  ${path}\n`), `${path} has a sum`);
  }
  const pem = createPublicKey(await read("release-key.pem"));
  for (const place of [program, `cli/stable/${platform}/machine`]) {
    const manifest = await Deno.readFile(join(folder, `${place}.manifest`));
    assert.ok(verify(null, manifest, pem, await Deno.readFile(join(folder, `${place}.sig`))));
    assert.ok(new TextDecoder().decode(manifest).includes(stable.files[0]!.sha256));
  }
  const bill = JSON.parse(await signed(`${records}/sbom.cdx.json`)) as Bill;
  assert.equal(bill.bomFormat, "CycloneDX");
  const of = (type: string) => bill.components.filter((each) => each.type === type);
  assert.deepEqual(of("application").map(({ name }) => name), ["machine"]);
  assert.ok(of("library").some(({ scope, hashes }) => scope === "required" && hashes?.length));
}

interface Bill {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly type: string;
    readonly name: string;
    readonly scope?: string;
    readonly hashes?: readonly unknown[];
  }[];
}

/** SHA-256 of every file, by its path. */
async function sumsOf(folder: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  const walk = async (below: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(join(folder, below))) {
      const path = below === "" ? name : `${below}/${name}`;
      if (isDirectory) await walk(path);
      else found.set(path, await sumOf(join(folder, path)));
    }
  };
  await walk("");
  return found;
}

async function sumOf(path: string): Promise<string> {
  return createHash("sha256").update(await Deno.readFile(path)).digest("hex");
}
