import assert from "node:assert/strict";
import { isNameOf, type MachineNames } from "./machine_names.ts";

const alone: MachineNames = {
  fqdns: ["robot.example"],
  hasCloud: false,
  port: 8080,
  hostname: "Bench",
  isOwnAddress: (address) => ["127.0.0.1", "::1", "10.0.0.5", "fd00::5"].includes(address),
};
const managed: MachineNames = {
  ...alone,
  fqdns: ["arm-main.loc.machine.internal", "arm-main.loc.local.machine.internal"],
  hasCloud: true,
};

Deno.test("isNameOf() a machine without a cloud takes its name and its addresses", () => {
  const ours = [
    ...["robot.example", "ROBOT.example.", "robot.example:9000", "localhost", "localhost:8080"],
    ...["127.0.0.1:8080", "[::1]:8080", "::1", "10.0.0.5", "10.0.0.5:8080", "[fd00::5]:8080"],
    ...["bench", "bench:8080", "Bench.local:8080"],
  ];
  for (const host of ours) assert.equal(isNameOf(host, alone), true, host);
  const others = [
    ...["", " ", ":8080", "[]:8080", "localhost:8081", "10.0.0.6:8080", "robot.example.org"],
    ...["bench.lan", "10.0.0.5:8080:1", "robot.example:x", "a b", "[robot.example"],
  ];
  for (const host of others) assert.equal(isNameOf(host, alone), false, host);
});

Deno.test("isNameOf() a machine with a cloud takes its two names only", () => {
  for (const name of managed.fqdns) {
    assert.equal(isNameOf(name, managed), true);
    assert.equal(isNameOf(`${name}:8080`, managed), true);
  }
  for (const host of ["localhost:8080", "127.0.0.1:8080", "bench", "loc.machine.internal"]) {
    assert.equal(isNameOf(host, managed), false, host);
  }
});
