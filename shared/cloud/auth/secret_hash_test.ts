import assert from "node:assert/strict";
import { hashSecret, verifySecret } from "./secret_hash.ts";

Deno.test("verifySecret() accepts the secret of a hash and nothing else", () => {
  const hash = hashSecret("right", "part 1");
  assert.match(hash, /^\$hmac-sha256\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
  assert.equal(hash, hashSecret("right", "part 1"), "the same each time");
  assert.notEqual(hash, hashSecret("right", "part 2"), "another one for others");
  assert.equal(verifySecret("right", hash), true);
  for (const wrong of ["", "Right", hash]) assert.equal(verifySecret(wrong, hash), false, wrong);
  for (const other of ["", "right", "$hmac-sha256$", "$hmac-sha256$YQ", "$hmac-sha256$YQ$YQ"]) {
    assert.equal(verifySecret("right", other), false, other);
  }
});
