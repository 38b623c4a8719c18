import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { join } from "node:path";
import { type DebianPackage, writeDebianPackage } from "./debian_archive.ts";
import { packageVersion } from "./contents.ts";

const CONTENT: DebianPackage = {
  control: { Package: "wheels", Version: "1.0.0", Description: "turns" },
  scripts: { postinst: "#!/bin/sh\n" },
  conffiles: ["/etc/wheels"],
  files: [
    { path: "usr/bin/wheels", from: new TextEncoder().encode("program"), mode: 0o755 },
    { path: "etc/wheels", from: new TextEncoder().encode("round\n") },
  ],
  time: new Date(1_000_000_000_000),
};

async function build(): Promise<Uint8Array> {
  const dir = await Deno.makeTempDir();
  try {
    await writeDebianPackage(join(dir, "out.deb"), CONTENT, dir);
    return await Deno.readFile(join(dir, "out.deb"));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

/** The members of an ar archive, by name. */
function members(bytes: Uint8Array): Map<string, Uint8Array> {
  const text = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
  assert.equal(text(0, 8), "!<arch>\n");
  const found = new Map<string, Uint8Array>();
  for (let at = 8; at < bytes.length;) {
    const size = Number(text(at + 48, at + 58));
    assert.equal(text(at + 58, at + 60), "`\n");
    found.set(text(at, at + 16).trim(), bytes.subarray(at + 60, at + 60 + size));
    at += 60 + size + size % 2;
  }
  return found;
}

Deno.test("writeDebianPackage() writes version, control and data, in this order", async () => {
  const parts = members(await build());
  assert.deepEqual([...parts.keys()], ["debian-binary", "control.tar.gz", "data.tar.gz"]);
  const control = new TextDecoder().decode(gunzipSync(parts.get("control.tar.gz")!));
  assert.match(
    control,
    /Package: wheels\nVersion: 1\.0\.0\nDescription: turns\nInstalled-Size: 1\n/,
  );
  assert.match(control, /\/etc\/wheels\n/);
  const data = new TextDecoder().decode(gunzipSync(parts.get("data.tar.gz")!));
  assert.ok(data.indexOf("./etc/wheels") < data.indexOf("./usr/bin/wheels"));
});

Deno.test("writeDebianPackage() gives the same bytes for the same content", async () => {
  assert.deepEqual(await build(), await build());
});

Deno.test("packageVersion() puts a candidate before its release", () => {
  assert.equal(packageVersion("1.2.3-rc.1"), "1.2.3~rc.1");
  assert.equal(packageVersion("1.2.3"), "1.2.3");
});
