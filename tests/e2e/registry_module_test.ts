/** From the upload of a module to its readings, and on to its next version. */
import type { JsonObject } from "@bufbuild/protobuf";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { PackageStatus_State, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { eventually, Rig } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));

/** An archive with the module in it, whose setup script leaves the version behind. */
async function pack(rig: Rig, version: string): Promise<string> {
  const folder = join(rig.dir, `module-${version}`);
  await Deno.mkdir(folder);
  const script = (name: string, text: string) =>
    Deno.writeTextFile(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  await script("run.sh", `exec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"`);
  await script("setup.sh", `echo ${version} >> "$MACHINE_MODULE_DATA/setups"`);
  const manifest = { module_id: "acme:plain", entrypoint: "run.sh", first_run: "setup.sh" };
  await Deno.writeTextFile(join(folder, "meta.json"), JSON.stringify(manifest));
  const archive = join(rig.dir, `module-${version}.tar.gz`);
  const { success } = await runToEnd("tar", {
    args: ["-czf", archive, "-C", folder, "run.sh", "setup.sh", "meta.json"],
  });
  assert.ok(success);
  return archive;
}

Deno.test("a registry module is downloaded, runs, and follows the next version", async () => {
  await using rig = await Rig.create();
  await rig.bootstrap();
  await rig.startCloud();
  const data = join(rig.dir, "cloud");
  const cloud = async (...args: string[]) => {
    const { code, stdout, stderr } = await rig.run("machine-cloud", ["module", ...args]);
    assert.equal(code, 0, stderr + stdout);
  };
  await cloud("namespace", "--data", data, "acme");
  const upload = async (version: string) =>
    cloud(
      ...["upload", "--data", data, "--name", "acme:plain", "--version", version],
      ...["--platform", "any", await pack(rig, version)],
    );
  await upload("1.0.0");

  const config: JsonObject = rig.defaultConfig();
  const sensor = { api: "rdk:component:sensor" };
  await (await rig.cloud()).client(AppService).updateRobotPart({
    id: rig.partId,
    name: "bench-main",
    robotConfig: {
      ...config,
      modules: [{ name: "plain", type: "registry", module_id: "acme:plain", version: "^1.0.0" }],
      components: [
        { ...sensor, name: "fake", model: "rdk:builtin:fake" },
        { ...sensor, name: "far", model: "acme:plain:reader", attributes: { source: "fake" } },
      ],
    },
  });
  await rig.startServer();
  await eventually("the module's sensor answers", () => rig.readings("far"), 300_000);
  const robot = (await rig.server()).client(RobotService);
  const packages = async () =>
    (await robot.getMachineStatus({})).packages.map(({ name, version, state }) =>
      `${name} ${version} ${PackageStatus_State[state]}`
    );
  assert.deepEqual(await packages(), ["plain 1.0.0 READY"]);

  await upload("1.1.0");
  await upload("2.0.0");
  const setups = join(rig.serverHome, "module-data", rig.partId, "plain", "setups");
  await eventually(
    "the next version is set up",
    async () => await Deno.readTextFile(setups) === "1.0.0\n1.1.0\n",
    300_000,
  );
  await eventually("the module's sensor answers again", () => rig.readings("far"));
  assert.deepEqual(await packages(), ["plain 1.1.0 READY"]);
  await eventually("the older version is removed", async () => {
    const kept = await Array.fromAsync(
      Deno.readDir(join(rig.serverHome, "packages", "data", "module")),
    );
    return kept.length === 1 && kept[0]!.name.includes("1_1_0");
  });
});
