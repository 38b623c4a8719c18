import assert from "node:assert/strict";
import { type RunProgram, runProgram } from "../../shared/base/process/run_program.ts";
import { serviceState } from "./service_state.ts";

const answering = (answers: Record<string, string>): RunProgram => (program, args) => {
  const stdout = answers[`${program} ${args[0]}`];
  return Promise.resolve({ code: stdout === undefined ? 1 : 0, stdout: stdout ?? "", stderr: "" });
};

Deno.test("serviceState() reads what systemd says", async () => {
  const run = answering({
    "systemctl show":
      "Result=watchdog\nNRestarts=3\nLoadState=loaded\nActiveState=failed\nUnitFileState=enabled\n",
  });
  assert.deepEqual(await serviceState(run, "linux"), {
    manager: "systemd",
    state: "failed",
    startup: "enabled",
    restarts: 3,
    result: "watchdog",
  });
});

Deno.test("serviceState() is undefined where there is no such service or no systemd", async () => {
  const unknown = answering({ "systemctl show": "LoadState=not-found\nActiveState=inactive\n" });
  assert.equal(await serviceState(unknown, "linux"), undefined);
  assert.equal(await serviceState(answering({}), "linux"), undefined);
  assert.equal(await serviceState(answering({}), "windows"), undefined);
});

Deno.test("serviceState() reads what Windows says", async () => {
  const run = answering({
    "sc.exe query":
      "\r\nSERVICE_NAME: machine-agent\r\n        TYPE               : 10  WIN32_OWN_PROCESS\r\n" +
      "        STATE              : 4  RUNNING\r\n        WIN32_EXIT_CODE    : 0  (0x0)\r\n",
    "sc.exe qc": "        START_TYPE         : 2   AUTO_START\r\n",
  });
  assert.deepEqual(await serviceState(run, "windows"), {
    manager: "windows",
    state: "RUNNING",
    startup: "enabled",
    restarts: 0,
    result: "success",
  });
});

Deno.test("runProgram() answers with 127 when there is no such program", async () => {
  const { code, stderr } = await runProgram("machine-no-such-program", []);
  assert.equal(code, 127);
  assert.match(stderr, /machine-no-such-program/);
});
