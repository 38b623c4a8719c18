import assert from "node:assert/strict";
import { programByName, PROGRAMS, v8Flags } from "./programs.ts";

Deno.test("programByName() finds a program by long and short name", () => {
  assert.equal(programByName("server").name, "machine-server");
  assert.equal(programByName("machine-cloud").name, "machine-cloud");
});

Deno.test("programByName() lists what is allowed when there is no such program", () => {
  assert.throws(() => programByName("machine-toaster"), /machine-toaster.*machine-server/);
});

Deno.test("v8Flags() gives each program its own line", () => {
  const text = "# about\nmachine-server --a=1  --b\nmachine-agent\n";
  assert.deepEqual(v8Flags("machine-server", text), ["--a=1", "--b"]);
  assert.deepEqual(v8Flags("machine-agent", text), []);
  assert.deepEqual(v8Flags("machine-cloud", text), []);
});

Deno.test("v8Flags() reads only flags from the file in the repository", () => {
  for (const { name } of PROGRAMS) {
    for (const flag of v8Flags(name)) assert.match(flag, /^--[a-z0-9-]+(=\S+)?$/);
  }
});
