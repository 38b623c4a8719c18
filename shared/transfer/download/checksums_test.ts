import assert from "node:assert/strict";
import { announcedIn, difference, RunningChecksum, sha256From } from "./checksums.ts";

const hex = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
const base64 = "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=";

Deno.test("announcedIn() reads the headers of object stores and of our cloud", () => {
  const read = (headers: Record<string, string>) => announcedIn(new Headers(headers));
  assert.deepEqual(read({ "x-goog-hash": "crc32c=yZRlqg==, md5=XrY7u+Ae7tCTyyK7j1rNww==" }), {
    crc32c: "yZRlqg==",
  });
  assert.deepEqual(read({ "x-checksum-sha256": hex.toUpperCase() }), { sha256: hex });
  assert.deepEqual(read({ "repr-digest": `sha-256=:${base64}:` }), { sha256: hex });
  assert.deepEqual(read({ digest: `SHA-256=${base64}` }), { sha256: hex });
  assert.deepEqual(read({ "x-checksum-sha256": "short", etag: '"x"' }), {});
});

Deno.test("sha256From() takes hexadecimal and base64, and nothing else", () => {
  assert.equal(sha256From(hex), hex);
  assert.equal(sha256From(`sha256:${hex}`), hex);
  assert.equal(sha256From(base64), hex);
  assert.equal(sha256From(""), undefined);
  assert.equal(sha256From("yZRlqg=="), undefined);
});

Deno.test("RunningChecksum gives the known sums of bytes that come in pieces", () => {
  const sum = new RunningChecksum();
  for (const piece of ["hello", " ", "world"]) sum.update(new TextEncoder().encode(piece));
  const found = sum.finish();
  assert.deepEqual(found, { crc32c: "yZRlqg==", sha256: hex });
  assert.equal(difference({ sha256: hex }, found), undefined);
  assert.match(difference({ crc32c: "AAAAAA==" }, found) ?? "", /crc32c is yZRlqg==, announced/);
});
