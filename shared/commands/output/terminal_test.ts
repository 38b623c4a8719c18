import assert from "node:assert/strict";
import { mayColour, paint } from "./terminal.ts";
import { NO_TERMINAL } from "./terminal_testing.ts";

Deno.test("mayColour() is for terminals alone, without NO_COLOR and TERM=dumb", () => {
  const cases: [isTerminal: boolean, env: Record<string, string>, may: boolean][] = [
    [true, { TERM: "xterm-256color" }, true],
    [true, {}, true],
    [true, { NO_COLOR: "" }, true], // as no-color.org has it
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "0", TERM: "xterm" }, false],
    [true, { TERM: "dumb" }, false],
    [false, { TERM: "xterm-256color" }, false],
  ];
  for (const [isTerminal, env, may] of cases) {
    const colours = mayColour(isTerminal, (name) => env[name]);
    assert.equal(colours, may, JSON.stringify([isTerminal, env]));
    const text = paint({ ...NO_TERMINAL, colours }, "red", "x");
    assert.equal(text, may ? "\x1b[31mx\x1b[0m" : "x");
  }
});
