import assert from "node:assert/strict";
import { base32, codeOf, fittingStep, otpauthUrl, stepAt } from "./totp.ts";

const SECRET = new TextEncoder().encode("12345678901234567890");

Deno.test("codeOf() computes the codes of RFC 6238, appendix B", () => {
  const codes: readonly (readonly [number, string])[] = [
    [59, "94287082"],
    [1111111109, "07081804"],
    [1111111111, "14050471"],
    [1234567890, "89005924"],
    [2000000000, "69279037"],
    [20000000000, "65353130"],
  ];
  for (const [seconds, code] of codes) {
    assert.equal(codeOf(SECRET, stepAt(new Date(seconds * 1000)), 8), code);
  }
});

Deno.test("fittingStep() takes a code once, one step early or late, whatever the clock does", () => {
  const now = new Date(1234567890_000);
  const step = stepAt(now);
  for (const near of [step - 1, step, step + 1]) {
    assert.equal(fittingStep(SECRET, codeOf(SECRET, near), now, 0), near);
  }
  assert.equal(fittingStep(SECRET, codeOf(SECRET, step - 2), now, 0), undefined);
  assert.equal(fittingStep(SECRET, codeOf(SECRET, step), now, step), undefined);
  const back = new Date(now.getTime() - 3_600_000);
  assert.equal(fittingStep(SECRET, codeOf(SECRET, stepAt(back)), back, step), undefined);
  for (const text of ["", "abcdef", "1234567"]) {
    assert.equal(fittingStep(SECRET, text, now, 0), undefined);
  }
});

Deno.test("base32() is that of RFC 4648, and otpauthUrl() names account and issuer", () => {
  assert.equal(base32(new TextEncoder().encode("foobar")), "MZXW6YTBOI");
  assert.equal(
    otpauthUrl(SECRET, "a@b.example", "cloud:8080"),
    "otpauth://totp/cloud%3A8080:a%40b.example?" +
      "secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=cloud%3A8080",
  );
});
