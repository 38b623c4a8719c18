import { join } from "node:path";
import { ResourceStatus_State, RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { eventually, READY_LINE, Rig } from "../e2e/rig.ts";
import type { Program } from "../e2e/program.ts";
import { residentMiB } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { benchRemoteCalls } from "./remote_calls.ts";
import type { Reporter } from "./report.ts";

const RESOURCES = 100;
const REMOTES = 20;
const SETTLE_MS = 20_000;
const DEADLINE_MS = 120_000;

const sensor = (name: string) => ({
  name,
  api: "rdk:component:sensor",
  model: "rdk:builtin:fake",
});

/**
 * A machine with remotes: how soon their resources are there, what a call through it costs, how soon
 * a loss shows, and their memory. Over WebRTC, as machines reach one another by default, or over
 * direct connections.
 */
export async function benchRemotes(
  reporter: Reporter,
  { webrtc }: { readonly webrtc: boolean },
): Promise<void> {
  await using rig = await Rig.create();
  const start = (name: string, machine: Machine) => startMachine(rig, name, { ...machine, webrtc });
  const report = (figure: string, value: number, unit: string) =>
    reporter.report(webrtc ? `${figure}_webrtc` : figure, value, unit);
  const connected = (remote: string) =>
    new RegExp(`remote ${remote} is connected.*"over":"${webrtc ? "webrtc" : "plaintext"}`);
  const [many, few] = [freePort(), freePort()];
  const sensors = Array.from({ length: RESOURCES }, (_, i) => sensor(`s${i}`));
  let far = await start("many", { port: many, components: sensors });
  await start("few", { port: few, components: [sensor("one")] });

  reporter.note(`${RESOURCES} resources behind a remote …`);
  const near = await start("near", {
    port: rig.serverPort,
    components: [sensor("own")],
    remotes: [{ name: "far", address: `127.0.0.1:${many}` }],
  });
  using client = new GrpcClient(rig.serverUrl, "");
  await near.waitForLine(connected("far"), DEADLINE_MS);
  await ready(client, true);
  reporter.note("calls in turn …");
  const called = { own: "own", through: "far:s1", near: near.pid, far: far.pid };
  await benchRemoteCalls(client, called, report);

  reporter.note("the remote goes and comes back …");
  const gone = performance.now();
  far.signal("SIGKILL", "group");
  await ready(client, false);
  report("remote_loss_seen", performance.now() - gone, "ms");
  const before = near.lines.length;
  far = await start("many", { port: many, components: sensors });
  const isBack = () => near.lines.slice(before).some((line) => connected("far").test(line));
  while (!isBack() && performance.now() - gone < DEADLINE_MS) {
    await new Promise((done) => setTimeout(done, 5));
  }
  const reached = performance.now();
  await ready(client, true);
  report("remote_100_ready", performance.now() - reached, "ms");
  await near.stop(DEADLINE_MS);

  for (const remotes of [0, REMOTES]) {
    reporter.note(`memory with ${remotes} remotes …`);
    const server = await start(`near-${remotes}`, {
      port: rig.serverPort,
      components: [sensor("own")],
      remotes: Array.from(
        { length: remotes },
        (_, i) => ({ name: `r${i}`, address: `127.0.0.1:${few}` }),
      ),
    });
    for (let i = 0; i < remotes; i++) {
      await server.waitForLine(connected(`r${i}`), DEADLINE_MS);
    }
    await new Promise((done) => setTimeout(done, SETTLE_MS));
    report(`rss_with_${remotes}_remotes`, await residentMiB(server.pid), "MiB");
    await server.stop(DEADLINE_MS);
  }
}

interface Machine {
  readonly port: number;
  readonly components: readonly unknown[];
  readonly remotes?: readonly unknown[];
}

async function startMachine(
  rig: Rig,
  name: string,
  { port, webrtc, ...config }: Machine & { readonly webrtc: boolean },
): Promise<Program> {
  const file = join(rig.dir, `${name}.json`);
  const network = { bind_address: `127.0.0.1:${port}` };
  await Deno.writeTextFile(file, JSON.stringify({ ...config, network }));
  const args = ["-config", file, "-disable-mdns", `-webrtc=${webrtc}`];
  const server = rig.spawn("machine-server", args, { MACHINE_HOME: join(rig.dir, `home-${name}`) });
  await server.waitForLine(READY_LINE, DEADLINE_MS);
  return server;
}

/** Waits until all that is behind the remote is ready, or nothing of it. */
async function ready(client: GrpcClient, wanted: boolean): Promise<void> {
  const robot = client.client(RobotService);
  await eventually("the remote's resources are as they are waited for", async () => {
    const { resources } = await robot.getMachineStatus({});
    const count = resources.filter(({ name, state }) =>
      name?.name.startsWith("far:s") && state === ResourceStatus_State.READY
    ).length;
    return wanted ? count === RESOURCES : count === 0;
  }, DEADLINE_MS);
}
