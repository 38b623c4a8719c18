import { deepEqual, equal } from "node:assert/strict";
import { runFaultChild } from "./fault_child_testing.ts";

const folder = import.meta.dirname ?? ".";
const source = `
  import { faultPoint } from "./fault_point.ts";
  try {
    for (const pass of [1, 2, 3]) {
      faultPoint("a.b");
      console.log(pass);
    }
  } finally {
    console.log("finally");
  }
`;

Deno.test("faultPoint() does nothing when no fault point is wanted", async () => {
  const { code, stdout } = await runFaultChild(source, { folder });
  equal(code, 0);
  equal(stdout, "1\n2\n3\nfinally\n");
});

Deno.test("faultPoint() does nothing when another point is wanted", async () => {
  for (const faultPoint of ["a", "a.b.c", "a.bc", "x#1"]) {
    const { stdout } = await runFaultChild(source, { folder, faultPoint });
    equal(stdout, "1\n2\n3\nfinally\n", faultPoint);
  }
});

Deno.test("faultPoint() kills at once, without finally, when its name is wanted", async () => {
  const { signal, stdout } = await runFaultChild(source, { folder, faultPoint: "a.b" });
  deepEqual({ signal, stdout }, { signal: "SIGKILL", stdout: "" });
});

Deno.test("faultPoint() kills at the wanted pass when one is given", async () => {
  const { signal, stdout } = await runFaultChild(source, { folder, faultPoint: "a.b#3" });
  deepEqual({ signal, stdout }, { signal: "SIGKILL", stdout: "1\n2\n" });
});

Deno.test("faultPoint() writes each pass to the trace when one is wanted", async () => {
  const trace = await Deno.makeTempFile();
  try {
    const run = new Deno.Command(Deno.execPath(), {
      args: ["eval", "--ext=ts", source],
      cwd: folder,
      env: { MACHINE_FAULT_TRACE: trace },
    });
    equal((await run.output()).code, 0);
    equal(await Deno.readTextFile(trace), "a.b\na.b\na.b\n");
  } finally {
    await Deno.remove(trace);
  }
});
