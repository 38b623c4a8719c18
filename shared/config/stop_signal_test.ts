import { deepStrictEqual } from "node:assert/strict";
import { parseSignal } from "./stop_signal.ts";

Deno.test("parseSignal() reads names and numbers", () => {
  const table: [string | number, string | undefined][] = [
    [15, "SIGTERM"],
    ["15", "SIGTERM"],
    ["TERM", "SIGTERM"],
    ["sigint", "SIGINT"],
    ["", "SIGTERM"],
    [0, "SIGTERM"],
    [9, "SIGKILL"],
    ["usr1", "SIGUSR1"],
    ["ODD", undefined],
    ["constructor", undefined],
    [64, undefined],
    [-1, undefined],
    [1.5, undefined],
  ];
  for (const [given, name] of table) {
    deepStrictEqual(parseSignal(given)?.name, name, String(given));
  }
  deepStrictEqual(parseSignal("hup")?.number, 1);
});
