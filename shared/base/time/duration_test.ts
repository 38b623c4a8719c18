import { equal, throws } from "node:assert/strict";
import { formatGoDuration, parseGoDuration } from "./duration.ts";

const HOUR = 3_600_000;

Deno.test("parseGoDuration() reads Go's forms", () => {
  const table: [string, number][] = [
    ["0", 0],
    ["+0", 0],
    ["0s", 0],
    ["1h20m", 80 * 60_000],
    ["1.5s", 1_500],
    [".5s", 500],
    ["1.s", 1_000],
    ["-300ms", -300],
    ["+5s", 5_000],
    ["100us", 0.1],
    ["100µs", 0.1],
    ["100μs", 0.1],
    ["1ns", 1e-6],
    ["1h1m1s1ms", HOUR + 61_001],
    ["2562047h", 2562047 * HOUR],
  ];
  for (const [text, ms] of table) equal(parseGoDuration(text), ms, text);
});

Deno.test("parseGoDuration() says the form when the text is none", () => {
  for (
    const text of ["", "5", "-", "s", "1d", "1 s", "1h 2m", "1,5s", "1e3s", "abc", ".s", "--1s"]
  ) {
    throws(() => parseGoDuration(text), /is not a duration; write a number with a unit/, text);
  }
  throws(() => parseGoDuration("2562048h"), /longer than 2562047h/);
});

Deno.test("formatGoDuration() writes what Go writes", () => {
  const table: [number, string][] = [
    [0, "0s"],
    [80 * 60_000, "1h20m0s"],
    [1.5, "1.5ms"],
    [1_500, "1.5s"],
    [60_000, "1m0s"],
    [HOUR, "1h0m0s"],
    [-300, "-300ms"],
    [0.1, "100µs"],
    [1e-6, "1ns"],
    [61_001, "1m1.001s"],
    [999.999999, "999.999999ms"],
  ];
  for (const [ms, text] of table) equal(formatGoDuration(ms), text);
});

Deno.test("formatGoDuration() gives back what parseGoDuration() read", () => {
  for (const text of ["1h20m0s", "1.5s", "100ms", "250µs", "-2m30.25s", "72h0m0s"]) {
    equal(formatGoDuration(parseGoDuration(text)), text);
  }
});
