import assert from "node:assert/strict";
import { createPublicKey, verify } from "node:crypto";
import { join } from "node:path";
import { parseChannelFile } from "../../shared/transfer/releases/channel_file.ts";
import { readMinisignPublicKey, verifyMinisign } from "../../shared/transfer/releases/minisign.ts";
import { type Release, writeRelease } from "./download_folder.ts";
import { SigningKey } from "./signing_key.ts";
import { secretKeyFile } from "./testing.ts";

async function inFolder(
  work: (place: { folder: string; release: (version: string) => Release }) => Promise<void>,
): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.writeTextFile(join(dir, "agent"), "the agent");
    await Deno.writeTextFile(join(dir, "install.sh"), "#!/bin/sh\n");
    const release = (version: string): Release => ({
      ...{ version, date: "2026-01-31", commit: "abc1234", notes: "New.", bill: "{}\n" },
      packages: [],
      programs: [
        { program: "machine-agent", platform: "linux/amd64", file: join(dir, "agent") },
        { program: "machine-agent", platform: "windows/amd64", file: join(dir, "agent") },
      ],
    });
    await work({ folder: join(dir, "release"), release });
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

const key = SigningKey.read(secretKeyFile(), undefined);
const read = (...path: string[]): Promise<string> => Deno.readTextFile(join(...path));

Deno.test("writeRelease() leaves programs, manifests, sums and a signed stable.json", async () => {
  await inFolder(async ({ folder, release }) => {
    await writeRelease(folder, release("1.2.3"), key, [join(folder, "..", "install.sh")]);
    const publicKey = readMinisignPublicKey(await read(folder, "release-key.pub"));
    for (
      const name of ["stable.json", "releases/1.2.3/SHA256SUMS", "releases/1.2.3/sbom.cdx.json"]
    ) {
      const signature = await read(folder, `${name}.minisig`);
      const text = new TextEncoder().encode(await read(folder, name));
      assert.equal(verifyMinisign(publicKey, text, signature), "version:1.2.3", name);
    }
    const { version, files } = parseChannelFile(await read(folder, "stable.json"));
    assert.equal(version, "1.2.3");
    assert.deepEqual(files.map(({ path }) => path), [
      "agent/1.2.3/linux/amd64/machine-agent",
      "agent/1.2.3/windows/amd64/machine-agent.exe",
    ]);
    for (const { path } of files) assert.equal(await read(folder, path), "the agent");
    assert.equal(await read(folder, "install.sh"), "#!/bin/sh\n");
    const manifest = await Deno.readFile(
      join(folder, "agent/stable/linux/amd64/machine-agent.manifest"),
    );
    const signature = await Deno.readFile(
      join(folder, "agent/stable/linux/amd64/machine-agent.sig"),
    );
    const pem = createPublicKey(await read(folder, "release-key.pem"));
    assert.ok(verify(null, manifest, pem, signature));
  });
});

Deno.test("writeRelease() keeps older versions, and puts a candidate on dev only", async () => {
  await inFolder(async ({ folder, release }) => {
    await writeRelease(folder, release("1.2.3"), key, []);
    const before = await read(folder, "stable.json");
    await writeRelease(folder, release("1.3.0-rc.1"), key, []);
    assert.equal(await read(folder, "stable.json"), before);
    assert.equal(parseChannelFile(await read(folder, "dev.json")).version, "1.3.0-rc.1");
    assert.equal(await read(folder, "agent/1.2.3/linux/amd64/machine-agent"), "the agent");
  });
});

Deno.test("writeRelease() refuses other files for a version that is there", async () => {
  await inFolder(async ({ folder, release }) => {
    await writeRelease(folder, release("1.2.3"), key, []);
    await writeRelease(folder, release("1.2.3"), key, []); // The same again is fine.
    const before = await read(folder, "stable.json");
    await Deno.writeTextFile(join(folder, "..", "agent"), "another agent");
    await assert.rejects(
      writeRelease(folder, release("1.2.3"), key, []),
      /has a release 1\.2\.3 with other files/,
    );
    assert.equal(await read(folder, "stable.json"), before);
    assert.equal(await read(folder, "agent/1.2.3/linux/amd64/machine-agent"), "the agent");
  });
});
