import assert from "node:assert/strict";
import { generateEd25519Key } from "../../cloud/auth/ed25519_key.ts";
import {
  releaseKeyId,
  type ReleaseManifest,
  signedText,
  signRelease,
  signReleaseKey,
  verifyRelease,
  verifyReleaseKey,
} from "./manifest.ts";

const manifest: ReleaseManifest = {
  binary: "machine-server",
  version: "1.2.3",
  platform: "linux/amd64",
  size: 60_000_000,
  sha256: "ab".repeat(32),
};

async function keyPair(): Promise<{ privateKey: CryptoKey; publicKey: Uint8Array }> {
  const { privateKey, publicKey } = await generateEd25519Key();
  return {
    privateKey,
    publicKey: new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)),
  };
}

Deno.test("signedText() is one text for one manifest", () => {
  assert.equal(
    signedText({ ...manifest, sha256: manifest.sha256.toUpperCase() }),
    "machine release 1\nbinary machine-server\nversion 1.2.3\nplatform linux/amd64\n" +
      `size 60000000\nsha256 ${"ab".repeat(32)}\n`,
  );
});

Deno.test("signedText() refuses facts that could be read as others", () => {
  const wrong: Partial<ReleaseManifest>[] = [
    { version: "1.2.3\nplatform linux/arm64" },
    { version: "1.2.3 beta" },
    { binary: "" },
    { platform: "linux/amd64\n" },
    { size: -1 },
    { size: 1.5 },
    { size: Number.NaN },
    { sha256: "ab" },
    { sha256: `${"ab".repeat(31)}zz` },
  ];
  for (const fields of wrong) {
    assert.throws(
      () => signedText({ ...manifest, ...fields }),
      RangeError,
      JSON.stringify(fields),
    );
  }
});

Deno.test("verifyRelease() accepts only the signed manifest, signed by that key", async () => {
  const { privateKey, publicKey } = await keyPair();
  const other = await keyPair();
  const signature = await signRelease(privateKey, manifest);

  assert.equal(signature.length, 64);
  assert.equal(await verifyRelease(publicKey, manifest, signature), true);
  assert.equal(await verifyRelease(other.publicKey, manifest, signature), false);
  const changed: Partial<ReleaseManifest>[] = [
    { binary: "machine-agent" },
    { version: "1.2.4" },
    { platform: "linux/arm64" },
    { size: manifest.size + 1 },
    { sha256: "cd".repeat(32) },
    { version: "no version" },
  ];
  for (const fields of changed) {
    const isRight = await verifyRelease(publicKey, { ...manifest, ...fields }, signature);
    assert.equal(isRight, false, JSON.stringify(fields));
  }
});

Deno.test("verifyRelease() is false for what is no signature or no key", async () => {
  const { privateKey, publicKey } = await keyPair();
  const signature = await signRelease(privateKey, manifest);
  const flipped = signature.slice();
  flipped[0] = (flipped[0] ?? 0) ^ 1;
  assert.equal(await verifyRelease(publicKey, manifest, flipped), false);
  assert.equal(await verifyRelease(publicKey, manifest, new Uint8Array()), false);
  assert.equal(await verifyRelease(publicKey, manifest, signature.slice(1)), false);
  assert.equal(await verifyRelease(new Uint8Array(), manifest, signature), false);
  assert.equal(await verifyRelease(new Uint8Array(32).fill(255), manifest, signature), false);
});

Deno.test("verifyReleaseKey() accepts a key that the one before vouches for", async () => {
  const first = await keyPair();
  const second = await keyPair();
  const third = await keyPair();
  const signature = await signReleaseKey(first.privateKey, second.publicKey);
  assert.equal(await verifyReleaseKey(first.publicKey, second.publicKey, signature), true);
  assert.equal(await verifyReleaseKey(first.publicKey, third.publicKey, signature), false);
  assert.equal(await verifyReleaseKey(third.publicKey, second.publicKey, signature), false);
  assert.equal(await verifyReleaseKey(first.publicKey, new Uint8Array(3), signature), false);
});

Deno.test("releaseKeyId() names a key by its bytes", async () => {
  const id = await releaseKeyId(new Uint8Array(32));
  assert.match(id, /^[0-9a-f]{16}$/);
  assert.equal(id, await releaseKeyId(new Uint8Array(32)));
  assert.notEqual(id, await releaseKeyId(new Uint8Array(32).fill(1)));
});
