import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { Layout } from "./oci.ts";

interface Descriptor {
  digest: string;
  size: number;
}

/** A layout of one image for two processors, in a folder. */
async function build(folder: string): Promise<void> {
  const root = join(folder, "root");
  await Deno.mkdir(join(root, "data"), { recursive: true });
  await Deno.writeTextFile(join(root, "program"), "#!/bin/sh\n");
  await Deno.chmod(join(root, "program"), 0o755);
  const layout = new Layout(join(folder, "layout"));
  const time = new Date("2026-01-31T12:00:00Z");
  const layer = await layout.addLayer(root, "program", {
    ...{ time, special: { "./data": { id: 10001, mode: 0o700 } } },
  });
  const config = { Env: ["A=b"], Entrypoint: ["/program"], Labels: { x: "y" } };
  const images = ["amd64", "arm64"].map((architecture) => (
    { architecture, layers: [layer], config }
  ));
  await layout.finish("wheels:1.0.0", images, time);
}

async function withLayout<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await Deno.makeTempDir();
  try {
    await build(folder);
    return await work(join(folder, "layout"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function blob(folder: string, { digest, size }: Descriptor): Promise<Uint8Array> {
  const bytes = await Deno.readFile(join(folder, "blobs", ...digest.split(":")));
  assert.equal(bytes.length, size);
  assert.equal(`sha256:${createHash("sha256").update(bytes).digest("hex")}`, digest);
  return bytes;
}

// deno-lint-ignore no-explicit-any -- whatever was written
async function json(folder: string, descriptor: Descriptor): Promise<any> {
  return JSON.parse(new TextDecoder().decode(await blob(folder, descriptor)));
}

Deno.test("a layout leads from its index to an image for each processor", async () => {
  await withLayout(async (folder) => {
    const top = JSON.parse(await Deno.readTextFile(join(folder, "index.json")));
    const [named] = top.manifests;
    assert.equal(named.annotations["org.opencontainers.image.ref.name"], "wheels:1.0.0");
    const index = await json(folder, named);
    const architectures = [];
    for (const each of index.manifests) {
      const manifest = await json(folder, each);
      const config = await json(folder, manifest.config);
      assert.equal(config.architecture, each.platform.architecture);
      architectures.push(config.architecture);
      assert.equal(config.created, "2026-01-31T12:00:00Z");
      const tar = gunzipSync(await blob(folder, manifest.layers[0]));
      const diffId = `sha256:${createHash("sha256").update(tar).digest("hex")}`;
      assert.deepEqual(config.rootfs.diff_ids, [diffId]);
      // ustar: mode, user and group of the first entries, octal.
      const at = tar.indexOf("./data/");
      const field = (from: number, to: number) =>
        parseInt(tar.subarray(at + from, at + to).toString(), 8);
      assert.deepEqual([field(100, 107), field(108, 115), field(116, 123)], [0o700, 10001, 10001]);
    }
    assert.deepEqual(architectures, ["amd64", "arm64"]);
  });
});

Deno.test("two layouts of the same are the same bytes", async () => {
  const read = (folder: string) => Deno.readTextFile(join(folder, "index.json"));
  assert.equal(await withLayout(read), await withLayout(read));
});
