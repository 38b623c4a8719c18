import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { BlobGoneError, type BlobReader } from "../../storage/blobs/blob_store.ts";
import { ArchiveFile, encodeArchive } from "./archive_file.ts";
import { ArchiveFiles, ArchiveGoneError } from "./archive_files.ts";

/** A file of one source with so many readings, each with so many bytes of JSON. */
async function encoded(readings: number, bytes: number): Promise<Uint8Array<ArrayBuffer>> {
  const data = JSON.stringify({ readings: { text: "x".repeat(bytes) } });
  return await encodeArchive([{
    source: { id: 1, component_name: "climate", method_name: "Readings" },
    readings: Array.from({ length: readings }, (_, at) => ({
      ...{ source_id: 1, received_us: at, upload_id: 1, position: at, requested_us: at, data },
    })),
  }]);
}

function readerOf(bytes: Uint8Array): BlobReader {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().getReader();
  let rest = new Uint8Array();
  return {
    async read(into) {
      if (rest.length === 0) rest = (await stream.read()).value ?? rest;
      if (rest.length === 0) return null;
      const piece = rest.subarray(0, into.length);
      into.set(piece);
      rest = rest.subarray(piece.length);
      return piece.length;
    },
    [Symbol.dispose]: () => {},
  } as BlobReader;
}

Deno.test("ArchiveFiles reads a file once for all who open it at the same time", async () => {
  const bytes = await encoded(10, 10);
  let reads = 0;
  const files = new ArchiveFiles({
    read: () => {
      reads++;
      return Promise.resolve(readerOf(bytes));
    },
  });
  const name = { id: "a", sha256: createHash("sha256").update(bytes).digest("hex") };
  const opened = await Promise.all([files.open(name), files.open(name), files.open(name)]);
  assert.equal(new Set([...opened, await files.open(name)]).size, 1);
  assert.equal(reads, 1);
});

Deno.test("a file that is removed while it is read is gone", async () => {
  const reader = { ...readerOf(new Uint8Array()), read: () => Promise.reject(new BlobGoneError()) };
  const files = new ArchiveFiles({ read: () => Promise.resolve(reader as BlobReader) });
  await assert.rejects(files.open({ id: "a", sha256: "" }), ArchiveGoneError);
});

Deno.test("a group has 2,000 readings, or one mebibyte of JSON", async () => {
  const rows = async (readings: number, bytes: number) =>
    (await ArchiveFile.open(await encoded(readings, bytes))).groupsOf(0, readings)
      .map(({ start, end }) => end - start);
  assert.deepEqual(await rows(4_500, 10), [2_000, 2_000, 500]);
  assert.deepEqual(await rows(5, 400 * 1024), [3, 2]);
  assert.deepEqual(await rows(2, 3 * 1024 * 1024), [1, 1]);
});
