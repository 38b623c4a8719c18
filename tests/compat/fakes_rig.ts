import { join } from "node:path";
import { READY_LINE, type Rig } from "../e2e/rig.ts";

const COMPONENTS = [
  ...["audio_in", "audio_out", "button", "camera", "gantry", "generic", "gripper"],
  ...["movement_sensor", "pose_tracker", "power_sensor", "sensor", "servo", "switch"],
];

const SERVICES = [
  ...["discovery", "generic", "slam", "video", "vision", "world_state_store"],
];

/** A configuration with one fake of each kind, named like its API. */
function fakesConfig(address: string) {
  const fake = (api: string, attributes = {}) => ({
    name: api.slice(api.lastIndexOf(":") + 1),
    api,
    model: "rdk:builtin:fake",
    attributes,
  });
  return {
    network: { bind_address: address },
    components: [
      ...COMPONENTS.map((type) => fake(`rdk:component:${type}`)),
      { ...fake("rdk:component:base"), frame: { parent: "world", translation: { y: 1_000 } } },
      { ...fake("rdk:component:arm"), frame: { parent: "base", translation: { x: 200 } } },
      fake("rdk:component:board", {
        analogs: [{ name: "battery", pin: "1" }],
        digital_interrupts: [{ name: "wheel", pin: "2" }],
        tick_interval_msec: 10,
      }),
      fake("rdk:component:encoder", { update_rate_msec: 10, ticks_per_update: 5 }),
      fake("rdk:component:input_controller", { callback_delay_sec: 60 }),
      fake("rdk:component:motor", { max_rpm: 6_000 }),
    ],
    services: SERVICES.map((type) => fake(`rdk:service:${type}`)),
  };
}

/** Starts a server without a cloud that has one fake of each kind, and lets everybody in. */
export async function startFakes(rig: Rig): Promise<void> {
  const file = join(rig.dir, "fakes.json");
  await Deno.writeTextFile(file, JSON.stringify(fakesConfig(`127.0.0.1:${rig.serverPort}`)));
  const server = rig.spawn("machine-server", ["-config", file]);
  await server.waitForLine(READY_LINE, 90_000);
}
