import assert from "node:assert/strict";
import { serverCommand } from "./server_command.ts";

function environment(inherited: Record<string, string>, configured: Record<string, string>) {
  const place = { program: "/s", credentialsFile: "/c", dir: "/d" };
  return serverCommand({ ...place, inherited, configured }).env ?? {};
}

Deno.test("serverCommand() has the server pass on what is configured, not what is inherited", () => {
  const env = environment({ AWS_PROFILE: "a", NOTIFY_SOCKET: "/n" }, { AWS_REGION: "b", X: "1" });
  assert.deepEqual([env["AWS_PROFILE"], env["AWS_REGION"], env["NOTIFY_SOCKET"]], [
    ...["a", "b"],
    undefined,
  ]);
  assert.equal(env["MACHINE_PASS_ENV"], "AWS_REGION,X");
});

Deno.test("serverCommand() adds to the variables that are named to be passed on", () => {
  assert.equal(environment({ MACHINE_PASS_ENV: "A,B*" }, { C: "1" })["MACHINE_PASS_ENV"], "A,B*,C");
  const both = environment({ MACHINE_PASS_ENV: "A" }, { MACHINE_PASS_ENV: "D", C: "1" });
  assert.equal(both["MACHINE_PASS_ENV"], "D,C");
  assert.equal(environment({ MACHINE_PASS_ENV: "A" }, {})["MACHINE_PASS_ENV"], "A");
});
