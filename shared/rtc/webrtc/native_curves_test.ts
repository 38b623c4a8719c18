import assert from "node:assert/strict";
import { p256 } from "@noble/curves/p256";
import nacl from "tweetnacl";
import { useNativeCurves } from "./native_curves.ts";

Deno.test("useNativeCurves() agrees with the libraries whose place it takes", () => {
  const { keyPair } = nacl.box;
  const { scalarMult } = nacl;
  const { getPublicKey, getSharedSecret } = p256;
  const before = keyPair();
  const secretBefore = p256.utils.randomPrivateKey();
  const publicBefore = getPublicKey(secretBefore, false);
  useNativeCurves();
  assert.notEqual(nacl.scalarMult, scalarMult);
  assert.notEqual(p256.getSharedSecret, getSharedSecret);
  const now = nacl.box.keyPair();
  assert.equal(now.publicKey.buffer.byteLength, 32);
  assert.equal(now.secretKey.buffer.byteLength, 32);
  assert.deepEqual(bytes(scalarMult.base(now.secretKey)), bytes(now.publicKey));
  const shared = bytes(scalarMult(before.secretKey, now.publicKey));
  assert.deepEqual(bytes(nacl.scalarMult(now.secretKey, before.publicKey)), shared);
  assert.deepEqual(bytes(nacl.scalarMult(before.secretKey, now.publicKey)), shared);

  const secretNow = p256.utils.randomPrivateKey();
  const publicNow = p256.getPublicKey(secretNow, false);
  assert.deepEqual(bytes(publicNow), bytes(getPublicKey(secretNow, false)));
  const agreed = bytes(getSharedSecret(secretBefore, publicNow)).slice(1);
  assert.deepEqual(bytes(p256.getSharedSecret(secretNow, publicBefore)).slice(1), agreed);
});

function bytes(value: Uint8Array): number[] {
  return [...value];
}
