import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { startMicro } from "../e2e/micro_machine.ts";
import { noNamesBecause, withName } from "../e2e/named_hosts.ts";
import { Program } from "../e2e/program.ts";
import { ensurePythonSdk, runPython } from "../e2e/python_sdk.ts";
import { type Rig, rigTest } from "../e2e/rig.ts";
import { runTypescriptSdk } from "./typescript_sdk.ts";

const FOUND = {
  resources: ["fake", "wheel"],
  fake: { a: 1, b: 2, c: 3 },
  position: 2,
  version: "0.1.0",
};
/** What its session moved is stopped when it has gone. */
const OF_PYTHON = { echo: 9000, moves: true, stopped: true };
const cannotName = ignoreBecause(import.meta.url, await noNamesBecause());

async function onlineMicro(rig: Rig) {
  await rig.startCloud();
  await rig.saveConfig({
    components: [
      { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" },
      { name: "wheel", api: "rdk:component:motor", model: "rdk:builtin:fake" },
    ],
  });
  const micro = await startMicro(rig);
  await micro.waitForLine("applied revision");
  return micro;
}

rigTest("the published Python SDK reads a machine-micro-server by native gRPC", async (rig) => {
  using micro = await onlineMicro(rig);
  const { api_key_id: id, api_key: key } = rig.bootstrapped;
  const address = `127.0.0.1:${micro.port}`;
  const { stdout } = await runPython(new URL("micro_tour.py", import.meta.url), [address, id, key]);
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  assert.deepEqual(JSON.parse(last), { ...FOUND, ...OF_PYTHON });
});

rigTest("the published TypeScript SDK reads a machine-micro-server by gRPC-web", async (rig) => {
  using micro = await onlineMicro(rig);
  const { api_key_id: id, api_key: key } = rig.bootstrapped;
  const tour = await runTypescriptSdk("micro_tour.mjs", [
    ...[`http://localhost:${micro.port}`, id, key],
  ]);
  assert.deepEqual(tour, FOUND);
});

rigTest("the published Python SDK reads a machine-micro-server through its cloud", async (rig) => {
  using _micro = await onlineMicro(rig);
  const { api_key_id: id, api_key: key, fqdn } = rig.bootstrapped;
  const script = fileURLToPath(new URL("micro_tour.py", import.meta.url));
  const python = await ensurePythonSdk();
  const program = Program.start({
    name: "micro_tour.py",
    ...await withName(rig.dir, fqdn, python, [script, `${fqdn}:${rig.cloudPort}`, id, key]),
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  });
  rig.programs.push(program);
  const [line] = await program.waitForLine(/^\{"resources".*/, 60_000);
  assert.deepEqual(JSON.parse(line), { ...FOUND, ...OF_PYTHON });
}, { ignore: cannotName });

rigTest(
  "the published TypeScript SDK reads a machine-micro-server through its cloud",
  async (rig) => {
    using _micro = await onlineMicro(rig);
    const { api_key_id: id, api_key: key, fqdn } = rig.bootstrapped;
    const tour = await runTypescriptSdk("micro_tour.mjs", [fqdn, id, key, rig.cloudUrl]);
    assert.deepEqual(tour, FOUND);
  },
);
