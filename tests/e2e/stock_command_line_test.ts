/** What the family's command line does to reload and restart a module, with the real programs. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { Rig } from "./rig.ts";

// Wrong sign-ins are limited, so they are not tried all the time.
const SOON = { deadlineMs: 60_000, everyMs: 500 };

Deno.test("a module is put on a machine by reload_path, and restarted with the machine's key", async () => {
  await using rig = await Rig.create();
  await rig.startCloud();
  await rig.startServer();
  const app = (await rig.cloud()).client(AppService);
  const program = join(rig.dir, "module.sh");
  const started = join(rig.dir, "started");
  await Deno.writeTextFile(program, `#!/bin/sh\necho x >> ${started}\nexec sleep 1000\n`);
  await Deno.chmod(program, 0o700);

  await rig.saveConfig({
    ...rig.defaultConfig(),
    services: [{ name: "shell", api: "rdk:service:shell" }],
    modules: [{
      type: "registry",
      module_id: `${rig.bootstrapped.org_id}:work`,
      name: "work_from_reload",
      reload_path: program,
      reload_enabled: true,
      version: "latest-with-prerelease",
    }],
  });
  const { apiKeys: [key] } = await app.getRobotAPIKeys({ robotId: rig.bootstrapped.machine_id });
  const robot = (await waitFor(async () => {
    try {
      return await signIn(rig.serverUrl, {
        type: "api-key",
        id: key!.apiKey!.id,
        key: key!.apiKey!.key,
      });
    } catch {
      return undefined; // the server has not learned of the key yet
    }
  }, SOON)).client(RobotService);

  const names = async () =>
    (await robot.resourceNames({})).resources.map(({ subtype, name }) => `${subtype}/${name}`);
  await waitFor(async () => (await names()).includes("shell/shell") || undefined, SOON);
  const lines = async () => (await Deno.readTextFile(started).catch(() => "")).length / 2;
  await waitFor(async () => (await lines()) > 0 || undefined, SOON);
  // The server knows the machine's key as that of an owner.
  const unknown = robot.restartModule({ idOrName: { case: "moduleName", value: "nothing" } });
  await assert.rejects(unknown, /not_found/);
});
