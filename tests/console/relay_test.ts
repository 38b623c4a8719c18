/** A browser that reaches a machine by a TURN server alone, and what Control says without one. */
import { join } from "node:path";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Program } from "../e2e/program.ts";
import { type ConsolePage, ConsoleRig } from "./console_rig.ts";
import { startMachine } from "./machine_rig.ts";

const SECRET = "shared with the cloud";
const MACHINE = {
  components: [{ name: "sensor-1", api: "rdk:component:sensor", model: "rdk:builtin:fake" }],
};

/** Its connections go by TURN servers alone, as behind a router that lets nothing else through. */
const BY_RELAY_ALONE = `{
  const Connection = window.RTCPeerConnection;
  window.RTCPeerConnection = class extends Connection {
    constructor(configuration) {
      super({ ...configuration, iceTransportPolicy: "relay" });
    }
  };
}`;

async function controlByRelay(rig: ConsoleRig): Promise<ConsolePage> {
  const opened = await rig.signedIn("/");
  await opened.context.addInitScript(BY_RELAY_ALONE);
  await opened.go(`/machines/${rig.made.machine_id}/control`);
  return opened;
}

Deno.test({
  name: "Control connects by a TURN server where there is no other way, and says so",
  ignore: ignoreWithout(import.meta.url, "chromium", "coturn"),
  async fn() {
    const folder = await Deno.makeTempDir();
    const port = freePort();
    const turn = Program.start({
      name: "turnserver",
      command: "turnserver",
      args: [
        ...["-n", "--realm=turn.example.com", "--no-cli", "--no-tls", "--no-dtls"],
        ...["--use-auth-secret", `--static-auth-secret=${SECRET}`, "--allow-loopback-peers"],
        ...["--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${port}`],
        ...["--log-file=stdout", `--pidfile=${join(folder, "pid")}`],
        `--userdb=${join(folder, "users.db")}`,
      ],
    });
    try {
      const urls = [`turn:127.0.0.1:${port}?transport=tcp`];
      await using rig = await ConsoleRig.open({
        iceServers: [{ urls, secret: SECRET, lifetimeSeconds: 3_600 }],
      });
      await using _machine = await startMachine(rig, MACHINE);
      const { page } = await controlByRelay(rig);
      await page.getByText("Connected by a relay (TURN)").waitFor();
      await page.getByRole("region", { name: "sensor-1, rdk:component:sensor" }).waitFor();
    } finally {
      await turn.stop(5_000);
      await Deno.remove(folder, { recursive: true });
    }
  },
});

Deno.test({
  name: "Control says which option names a TURN server when no way leads to the machine",
  ignore: ignoreWithout(import.meta.url, "chromium"),
  async fn() {
    await using rig = await ConsoleRig.open();
    await using _machine = await startMachine(rig, MACHINE);
    const opened = await controlByRelay(rig);
    const { page } = opened;
    await page.getByText("found no way to one another").waitFor();
    await page.getByText("--ice-servers ice-servers.json").waitFor();
    await opened.inspect("machine-no-way");
    opened.complaints.splice(0);
  },
});
