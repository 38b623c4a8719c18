import { match, strictEqual } from "node:assert/strict";
import { compileLogPattern, logPatternError } from "./log_pattern.ts";

Deno.test("compileLogPattern() anchors, and reads a lone * as anything", () => {
  const cases: [pattern: string, name: string, matches: boolean][] = [
    ["rdk", "rdk", true],
    ["rdk", "rdk.config", false],
    ["rdk.*", "rdk.config", true],
    ["rdk:component:*", "rdk:component:sensor/host", true],
    ["*", "anything", true],
    ["*:sensor/*", "rdk:component:sensor/host", true],
    ["(ab)*", "abab", true],
    ["(ab)*", "abx", false],
    ["[ab]*", "abba", true],
    ["[ab]*", "abc", false],
    ["[*]", "*", true],
    ["[*]", ".", false],
    ["a\\*", "a*", true],
    ["a\\*", "ab", false],
    ["a|b", "a", true],
    ["a|b", "ax", false],
    ["rdk.resource_manager", "rdkxresource_manager", true],
  ];
  for (const [pattern, name, matches] of cases) {
    strictEqual(compileLogPattern(pattern).test(name), matches, `${pattern} on ${name}`);
  }
});

Deno.test("logPatternError() says why a pattern does not compile", () => {
  match(logPatternError("(") ?? "", /group/i);
  match(logPatternError("[a") ?? "", /class/i);
  match(logPatternError("a\\") ?? "", /./);
  strictEqual(logPatternError("rdk:component:*"), undefined);
});
