import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Program } from "./program.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

const DEBUG_LINE = /\tDEBUG\trdk\.networking\t\S+:\d+\tcall\t\{/;
const LINE =
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\t(DEBUG|INFO|WARN|ERROR)\trdk(\.\S+)?\t(-|[^\t]+:\d+)\t[^\t]+(\t\{.*\})?$/;

const calls = (server: Program) => server.lines.filter((line) => DEBUG_LINE.test(line)).length;

/** Whether one more call to the server is in its log. */
async function callIsLogged(rig: Rig, server: Program): Promise<boolean> {
  const before = calls(server);
  await rig.readings("fake");
  // A line of the same connection that comes after that of the call, if there is one.
  await rig.readings("fake");
  return calls(server) > before;
}

async function configure(rig: Rig, changes: JsonObject): Promise<void> {
  await rig.saveConfig({ ...rig.defaultConfig(), ...changes });
}

rigTest("log settings count for loggers that run, as soon as they are saved", async (rig) => {
  await rig.startCloud();
  const server = await rig.startServer();
  await eventually("the sensor answers", () => rig.readings("fake"));
  assert.equal(await callIsLogged(rig, server), false);

  await configure(rig, { log: [{ pattern: "rdk.networking", level: "debug" }] });
  await eventually("calls are logged by the rule", () => callIsLogged(rig, server));
  await configure(rig, {
    log: [{ pattern: "rdk.networking", level: "debug" }, { pattern: "rdk.*", level: "warn" }],
  });
  await eventually("the later rule counts", async () => !await callIsLogged(rig, server));
  await configure(rig, { log: [{ pattern: "rdk.*", level: "warn" }], debug: true });
  await eventually("debug goes before the rules", () => callIsLogged(rig, server));
  await configure(rig, {});
  await eventually("everything is as before", async () => !await callIsLogged(rig, server));

  for (const line of server.lines) assert.match(line, LINE);
  await eventually("the lines are in the cloud", async () => (await rig.logs("call")).length > 0);
});

rigTest("no secret is in any log, whatever its level", async (rig) => {
  await rig.startCloud();
  const server = await rig.startServer(["-debug"]);
  await eventually("the sensor answers", () => rig.readings("fake"));
  await configure(rig, { auth: { handlers: [{ type: "api-key", config: { id: "hidden-key" } }] } });
  await eventually("the rules are applied", () => callIsLogged(rig, server));
  const { part_secret, api_key } = rig.bootstrapped;
  const output = rig.programs.flatMap(({ lines }) => lines).join("\n");
  for (const secret of [part_secret, api_key, "hidden-key"]) {
    assert.ok(!output.includes(secret), "a secret is in the log");
  }
  assert.ok(!/eyJ[\w-]{8,}\./.test(output), "an access token is in the log");
});
