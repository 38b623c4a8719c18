import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { OnlineState } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { programPath } from "../../tools/run/options.ts";
import { bundlePrograms } from "../../tools/test/bundle_programs.ts";
import { Program } from "../e2e/program.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import type { ConsoleRig } from "./console_rig.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PLAIN = fileURLToPath(new URL("../modules/plain.ts", import.meta.url));
export const WAIT = { deadlineMs: 60_000 };

export const KINDS = [
  ...["arm", "base", "board", "button", "camera", "encoder", "gantry", "generic", "gripper"],
  ...["motor", "movement_sensor", "power_sensor", "sensor", "servo", "switch"],
];

/** A real machine-server. */
export interface RigMachine extends AsyncDisposable {
  readonly server: Program;
}

/** A fake of each kind of component, and of a vision service. */
function fakes(): object {
  const components = KINDS.map((kind) => ({
    ...{ name: `${kind}-1`, api: `rdk:component:${kind}`, model: "rdk:builtin:fake" },
    // A motor knows its position by an encoder.
    ...(kind === "motor" && { attributes: { encoder: "encoder-1", max_rpm: 6_000 } }),
  }));
  const vision = { name: "eyes", api: "rdk:service:vision", model: "rdk:builtin:fake" };
  return { components, services: [vision] };
}

/** The entry of `tests/modules/plain.ts` for a configuration's modules. */
export async function plainModule({ dataDir }: ConsoleRig): Promise<object> {
  const program = join(dataDir, "plain.sh");
  await Deno.writeTextFile(
    program,
    `#!/bin/sh\nexec '${Deno.execPath()}' run -A --quiet --no-check '${PLAIN}' "$@"\n`,
    { mode: 0o755 },
  );
  return { type: "local", name: "plain", executable_path: program };
}

/**
 * Runs the rig's machine; resolves when the cloud has it online.
 *
 * @param config default: a fake of each kind of component
 * @param partId default: the main part
 */
export async function startMachine(
  rig: ConsoleRig,
  config: object = fakes(),
  partId: string = rig.made.part_id,
): Promise<RigMachine> {
  const { app, made, dataDir, cloud } = rig;
  const { part } = await app.getRobotPart({ id: partId });
  const network = { bind_address: `127.0.0.1:${freePort()}` };
  await app.updateRobotPart({
    ...{ id: partId, name: part?.name ?? "" },
    robotConfigJson: JSON.stringify({ ...config, network }),
  });
  const credentials = join(dataDir, `machine-${partId}.json`);
  const secret = partId === made.part_id ? made.part_secret : part?.secret;
  await Deno.writeTextFile(
    credentials,
    JSON.stringify({ cloud: { id: partId, secret, app_address: cloud.url } }),
  );
  const binaries = Deno.env.get("MACHINE_TEST_BINARIES");
  if (binaries === undefined) await bundlePrograms();
  const server = Program.start({
    name: "machine-server",
    command: programPath("machine-server", { binaries }, ROOT),
    args: ["-config", credentials],
    env: { MACHINE_HOME: join(dataDir, `server-${partId}`) },
  });
  const isOnline = async () => {
    if (server.hasExited) return true;
    const { parts } = await app.getRobotParts({ robotId: made.machine_id });
    return parts.find(({ id }) => id === partId)?.onlineState === OnlineState.ONLINE;
  };
  await waitFor(isOnline, { ...WAIT, everyMs: 100 }).catch(async (error) => {
    await server.stop(0);
    throw new Error(`machine-server did not come online:\n${server.tail()}`, { cause: error });
  });
  if (server.hasExited) throw server.endedError();
  return { server, [Symbol.asyncDispose]: async () => void await server.stop(10_000) };
}
