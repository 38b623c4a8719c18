import assert from "node:assert/strict";
import { freeName, nameByPattern, patternProblem } from "./machine_names.ts";

const FACTS = { hostName: "kiosk-7.shop.example", serial: "A 1/2", mac: "02:42:ac:11" };

Deno.test("nameByPattern() makes names of what a device says", () => {
  for (
    const [pattern, expected] of [
      ["{host}", "kiosk-7"],
      ["arm-{n}", "arm-3"],
      ["{serial}", "A-1-2"],
      ["d{mac}", "d0242ac11"],
      ["{host}-{n}", "kiosk-7-3"],
    ] as const
  ) assert.equal(nameByPattern(pattern, FACTS, 3), expected);
  const nothing = { hostName: "", serial: "", mac: "" };
  assert.equal(nameByPattern("{host}", nothing, 1), "machine");
  assert.equal(nameByPattern("{host}", { ...nothing, hostName: "日本" }, 1), "machine");
  assert.equal(nameByPattern("{host}", { ...nothing, hostName: "x".repeat(253) }, 1).length, 60);
});

Deno.test("patternProblem() names what cannot be", () => {
  assert.equal(patternProblem("kiosk-{n}"), undefined);
  assert.match(patternProblem("{ip}") ?? "", /\{ip\} is not known/);
  assert.match(patternProblem("a b") ?? "", /allowed are letters/);
});

Deno.test("freeName() counts until a name is free, within the longest", () => {
  assert.equal(freeName("a", new Set()), "a");
  assert.equal(freeName("a", new Set(["a", "a-2"])), "a-3");
  const long = "x".repeat(60);
  assert.equal(freeName(long, new Set([long])).length, 60);
});
