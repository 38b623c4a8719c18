import assert from "node:assert/strict";
import { announcedNames, hostOf, renamed } from "./names.ts";

const names = (given: (string | undefined)[], hostname = "raspi", port = 8080) =>
  announcedNames({ given, hostname, port });

Deno.test("announcedNames() gives each given name, also with dashes, once", () => {
  assert.deepEqual(names(["Main.abc.example", "main.abc.local.example", undefined, "", "robot"]), {
    names: [
      "main.abc.example",
      "main-abc-example",
      "main.abc.local.example",
      "main-abc-local-example",
      "robot",
    ],
    isRenamable: false,
  });
});

Deno.test("announcedNames() makes a name of host name and port when none is given", () => {
  const table: [string, string][] = [
    ["raspi", "raspi-8080"],
    ["Raspi.home.example", "raspi-8080"],
    ["Ada's Computer", "ada-s-computer-8080"],
    ["", "machine-8080"],
    ["---", "machine-8080"],
    ["x".repeat(80), `${"x".repeat(50)}-8080`],
  ];
  for (const [hostname, name] of table) {
    assert.deepEqual(names([], hostname), { names: [name], isRenamable: true }, hostname);
  }
});

Deno.test("announcedNames() leaves out what DNS cannot hold", () => {
  const label = "a".repeat(40);
  assert.deepEqual(names([`${label}.${label}.example`]).names, [`${label}.${label}.example`]);
  assert.deepEqual(names(["a..b"]).names, ["a--b"]);
  assert.deepEqual(names([`${"a".repeat(64)}`]).names, ["raspi-8080"]);
  assert.deepEqual(names([Array(60).fill("abc").join(".")]).names, ["raspi-8080"]);
});

Deno.test("hostOf() ends in .local, once", () => {
  assert.equal(hostOf("main.abc.example"), "main.abc.example.local");
  assert.equal(hostOf("robot.local"), "robot.local");
});

Deno.test("renamed() counts from the second", () => {
  assert.deepEqual([1, 2, 3].map((number) => renamed("robot", number)), [
    "robot",
    "robot-2",
    "robot-3",
  ]);
});
