import { match, strictEqual } from "node:assert/strict";
import { logPatternError } from "./log_pattern.ts";

Deno.test("logPatternError() says why a pattern does not compile", () => {
  match(logPatternError("(") ?? "", /^unterminated group$/i);
  match(logPatternError("[a") ?? "", /class/i);
  match(logPatternError("a".repeat(2000)) ?? "", /longer than/);
  for (const pattern of ["rdk:component:*", "*", "rdk\\.module.*", "a|b"]) {
    strictEqual(logPatternError(pattern), undefined);
  }
});
