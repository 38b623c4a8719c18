/** Machines of a cluster that are called through it. */
import { createClient } from "@connectrpc/connect";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "../../shared/base/time/clock.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { programPath } from "../../tools/run/options.ts";
import { startMicro } from "../e2e/micro_machine.ts";
import { Program } from "../e2e/program.ts";
import { eventually } from "../e2e/rig.ts";
import type { Cluster } from "./cluster.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FAKE = { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" };
const CALL_MS = 60_000;
const DEADLINE_MS = 300_000;

/** A machine-server, which is reached by WebRTC, and a machine-micro-server, by the relay. */
export class CalledMachines implements AsyncDisposable {
  readonly #names: readonly [string, string];
  readonly #peers = weriftPeers({ clock: systemClock, log: memoryLogger("caller") });

  private constructor(
    private readonly cluster: Cluster,
    private readonly server: Program,
    private readonly micro: Disposable,
    names: readonly [string, string],
  ) {
    this.#names = names;
  }

  static async start(cluster: Cluster): Promise<CalledMachines> {
    const network = { bind_address: "127.0.0.1:0" };
    const big = await addMachine(cluster, "big", { components: [FAKE], network });
    const small = await addMachine(cluster, "small", { components: [FAKE] });
    const server = Program.start({
      name: "machine-server",
      command: programPath("machine-server", { binaries: undefined }, ROOT),
      args: ["-config", big.credentialsFile],
      env: { MACHINE_HOME: join(big.dir, "home") },
    });
    return new CalledMachines(cluster, server, await startMicro(small), [big.fqdn, small.fqdn]);
  }

  /** Calls both; each dial comes to either node. Tries again until they answer. */
  async call(): Promise<void> {
    for (const name of this.#names) {
      await eventually(`a reading of ${name}`, () => this.#read(name), DEADLINE_MS);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.micro[Symbol.dispose]();
    await this.server.stop(10_000);
  }

  async #read(host: string): Promise<true> {
    const { api_key_id: id, api_key: key } = this.cluster.made;
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(new Error("no answer")), CALL_MS);
    try {
      const { client } = await signIn(this.cluster.url, { id, key });
      const peer = await callPeer({
        client: client(SignalingService),
        ...{ host, peers: this.#peers, signal: stop.signal },
      });
      const sensor = createClient(SensorService, createDataChannelTransport(peer.channel));
      await sensor.getReadings({ name: "fake" }, { timeoutMs: CALL_MS });
      await peer.close();
      return true;
    } finally {
      clearTimeout(timer);
      stop.abort();
    }
  }
}

async function addMachine(cluster: Cluster, name: string, robotConfig: object) {
  const { made } = cluster;
  const { client } = await signIn(cluster.url, { id: made.api_key_id, key: made.api_key });
  const app = client(AppService);
  const { id: robotId } = await app.newRobot({ name, location: made.location_id });
  const { parts: [part] } = await app.getRobotParts({ robotId });
  if (!part) throw new Error(`${name} has no part`);
  await app.updateRobotPart({ id: part.id, name: part.name, robotConfig: { ...robotConfig } });
  const dir = join(cluster.dir, name);
  await Deno.mkdir(dir);
  const credentialsFile = join(dir, "machine.json");
  const cloud = { app_address: cluster.url, id: part.id, secret: part.secret };
  await Deno.writeTextFile(credentialsFile, JSON.stringify({ cloud }));
  return { dir, credentialsFile, fqdn: part.fqdn };
}
