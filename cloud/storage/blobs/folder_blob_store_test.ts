import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { runFaultChild } from "../../../shared/base/faults/fault_child_testing.ts";
import { noSmallDisks, withSmallDisk } from "../../../shared/test_tools/small_disk.ts";
import { FileError } from "../../../shared/base/files/fs_error.ts";
import { BlobTooLargeError } from "./blob_store.ts";
import { FolderBlobStore } from "./folder_blob_store.ts";

const FOLDER = import.meta.dirname ?? ".";
const HOUR_MS = 60 * 60_000;

async function inFolder(work: (folder: string) => Promise<void>) {
  const folder = await Deno.makeTempDir({ prefix: "machine-cloud-blobs-" });
  try {
    await work(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function* pieces(count: number, size = 1_000, error?: Error) {
  for (let at = 0; at < count; at++) yield await Promise.resolve(new Uint8Array(size).fill(at));
  if (error) throw error;
}

async function filesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const entry of Deno.readDir(folder)) {
    if (entry.isFile) found.push(entry.name);
    else {found.push(...(await filesIn(join(folder, entry.name))).map((it) =>
        `${entry.name}/${it}`
      ));}
  }
  return found.sort();
}

Deno.test("FolderBlobStore.receive() stores the bytes with their sums", () =>
  inFolder(async (folder) => {
    const store = await FolderBlobStore.open(folder);
    const id = crypto.randomUUID();
    const blob = await store.receive(id, pieces(5), 5_000);
    const bytes = await Deno.readFile(join(folder, id));
    assert.equal(bytes.length, 5_000);
    assert.deepEqual(blob, {
      id,
      size: 5_000,
      sha256: createHash("sha256").update(bytes).digest("hex"),
      crc32c: "/M0BlQ==",
    });
    assert.deepEqual(await filesIn(folder), [id]);
    if (Deno.build.os !== "windows") {
      assert.equal((await Deno.stat(join(folder, id))).mode! & 0o777, 0o600);
    }
  }));

Deno.test("FolderBlobStore.receive() leaves nothing of what is cut or too large", () =>
  inFolder(async (folder) => {
    const store = await FolderBlobStore.open(folder);
    const id = crypto.randomUUID();
    await assert.rejects(store.receive(id, pieces(5), 4_999), BlobTooLargeError);
    await assert.rejects(
      store.receive(id, pieces(2, 1_000, new Error("cut")), 5_000),
      /^Error: cut/,
    );
    assert.deepEqual(await filesIn(folder), []);
    assert.equal(await store.read(id), undefined);
  }));

Deno.test("FolderBlobStore.receive() says that the disk is full and leaves nothing", {
  ignore: noSmallDisks(import.meta.url),
}, () =>
  inFolder((folder) =>
    withSmallDisk(folder, 64, async () => {
      const store = await FolderBlobStore.open(folder);
      const full = store.receive(crypto.randomUUID(), pieces(100, 4_096), 1_000_000);
      await assert.rejects(full, (error) => error instanceof FileError && error.code === "ENOSPC");
      assert.deepEqual(await filesIn(folder), []);
    })
  ));

Deno.test("FolderBlobStore.receive() shows a blob only when it is whole, wherever it is killed", () =>
  inFolder(async (folder) => {
    const id = crypto.randomUUID();
    const source = `
      import { FolderBlobStore } from "./folder_blob_store.ts";
      const store = await FolderBlobStore.open(Deno.args[0]);
      async function* pieces() { for (const at of [1, 2, 3]) yield new Uint8Array(1000).fill(at); }
      await store.receive(Deno.args[1], pieces(), 5000);
      console.log("stored");`;
    const killedAt = async (faultPoint: string) => {
      const child = await runFaultChild(source, { folder: FOLDER, faultPoint, args: [folder, id] });
      assert.equal(child.signal, "SIGKILL", child.stderr);
      assert.equal(child.stdout, "");
      const store = await FolderBlobStore.open(folder);
      using file = await store.read(id);
      const size = file && (await Deno.stat(join(folder, id))).size;
      const left = await filesIn(folder);
      await store.sweep(() => Promise.resolve(false), new Date(Date.now() + 2 * HOUR_MS));
      return { size, left };
    };
    for (const point of ["packages.blob.writing#2", "packages.blob.before-rename"]) {
      const { size, left } = await killedAt(point);
      assert.deepEqual({ size, left }, { size: undefined, left: [`incoming/${id}`] }, point);
    }
    assert.deepEqual(await killedAt("packages.blob.after-rename"), { size: 3_000, left: [id] });
    assert.deepEqual(await filesIn(folder), []);
  }));

Deno.test("FolderBlobStore.sweep() removes only what is old and has no row", () =>
  inFolder(async (folder) => {
    const store = await FolderBlobStore.open(folder);
    const [known, orphan, cut] = [1, 2, 3].map(() => crypto.randomUUID());
    assert.ok(known && orphan && cut);
    for (const id of [known, orphan]) await store.receive(id, pieces(1), 5_000);
    await Deno.writeTextFile(join(folder, "incoming", cut), "x");
    await Deno.writeTextFile(join(folder, "notes.txt"), "somebody's");
    const isKnown = (id: string) => Promise.resolve(id === known);

    assert.equal(await store.sweep(isKnown, new Date()), 0);
    assert.equal(await store.sweep(isKnown, new Date(Date.now() + 2 * HOUR_MS)), 2);
    assert.deepEqual(await filesIn(folder), [known, "notes.txt"].sort());
  }));

Deno.test("FolderBlobStore.sweep() leaves what is being uploaded, whatever the clock shows", () =>
  inFolder(async (folder) => {
    const store = await FolderBlobStore.open(folder);
    const id = crypto.randomUUID();
    const [begun, more] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slowly = async function* () {
      yield new Uint8Array(1_000);
      begun.resolve();
      await more.promise;
      yield new Uint8Array(1_000);
    };
    const received = store.receive(id, slowly(), 5_000);
    await begun.promise;
    const inAYear = new Date(Date.now() + 365 * 24 * HOUR_MS);
    assert.equal(await store.sweep(() => Promise.resolve(false), inAYear), 0);
    more.resolve();
    assert.equal((await received).size, 2_000);
    assert.deepEqual(await filesIn(folder), [id]);
  }));
