import assert from "node:assert/strict";
import { machinePath } from "./machine_path.ts";

const FOLDERS = { user: "/home/u", machine: "/var/lib/machine" };

Deno.test("machinePath() finds the traces where the family's command line looks for them", () => {
  const paths = {
    "~/.viam/trace/part/traces": "/var/lib/machine/traces/part/traces",
    "~/.viam/trace": "/var/lib/machine/traces",
    "~/.viam/traces/x": "/home/u/.viam/traces/x",
    "~/.viam/trace/../../x": "/var/lib/x",
    "$VIAM_HOME/traces": "/var/lib/machine/traces",
    "x/y": "/home/u/x/y",
  };
  for (const [path, wanted] of Object.entries(paths)) {
    assert.equal(machinePath(path, FOLDERS), wanted, path);
  }
});
