import assert from "node:assert/strict";
import { base64, fromBase64, fromHex, hex, sameBytes } from "./bytes.ts";
import { fromUtf8, utf8 } from "./utf8.ts";

Deno.test("utf8() and fromUtf8() agree with the platform, also for what is not text", () => {
  for (const text of ["", "abc", "é€😀", "a\ud800b", "\udc00", "\ud83d", "x".repeat(2000) + "😀"]) {
    assert.deepEqual(utf8(text), new TextEncoder().encode(text), text);
    const bytes = new TextEncoder().encode(text);
    assert.equal(fromUtf8(bytes), new TextDecoder().decode(bytes), text);
  }
  assert.equal(fromUtf8(new Uint8Array([0xc0, 0xaf, 0xff, 65])), "\ufffd\ufffd\ufffdA");
  assert.equal(fromUtf8(new Uint8Array([0xed, 0xa0, 0x80])), "\ufffd\ufffd\ufffd");
});

Deno.test("base64() and hex() are undone by their counterparts, which refuse anything else", () => {
  for (let size = 0; size < 20; size++) {
    const bytes = Uint8Array.from({ length: size }, (_, i) => i * 37 & 255);
    assert.equal(base64(bytes), btoa(String.fromCharCode(...bytes)));
    assert.deepEqual(fromBase64(base64(bytes)), bytes);
    assert.deepEqual(fromHex(hex(bytes)), bytes);
  }
  assert.deepEqual(fromBase64("-_8"), new Uint8Array([0xfb, 0xff]));
  assert.equal(fromBase64("a*b="), undefined);
  assert.equal(fromHex("0g"), undefined);
  assert.ok(sameBytes(utf8("ab"), utf8("ab")) && !sameBytes(utf8("ab"), utf8("ac")));
});
