/** Connections by WebRTC: how soon they are open, how fast, and what a server keeps for them. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { decodeSdp, encodeSdp } from "../../shared/rtc/signaling/sdp.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import type { RtcPeer } from "../../shared/rtc/webrtc/peer.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { Rig } from "../e2e/rig.ts";
import { processorMs, residentMiB } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";
import { drain, pour } from "./webrtc_pour.ts";

const PEER = fileURLToPath(new URL("webrtc_peer.ts", import.meta.url));
const PEERS = 10;
const CALLS = 1_000;
const POURED_BYTES = 64 * 1024 * 1024;
/** A server gives memory back a while after it was needed. */
const SETTLE_MS = 5_000;

const peers = weriftPeers({ clock: systemClock, log: memoryLogger() });
const signal = new AbortController().signal;

/** Calls of a machine as SDKs make them, and bytes between two processes. */
export async function benchWebRtc(reporter: Reporter): Promise<void> {
  await benchMachine(reporter);
  await benchBytes(reporter);
}

async function benchMachine(reporter: Reporter): Promise<void> {
  await using rig = await Rig.create();
  const file = join(rig.dir, "machine-config.json");
  const sensor = { name: "fake", api: "rdk:component:sensor", model: "rdk:builtin:fake" };
  const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
  await Deno.writeTextFile(file, JSON.stringify({ network, components: [sensor] }));
  const { pid } = await rig.startServer([], {}, file);
  using grpc = new GrpcClient(rig.serverUrl, "");
  const client = grpc.client(SignalingService);
  const dial = () => callPeer({ client, host: "localhost", peers, signal });

  // The dialler's own start is not the machine's.
  await warmUp();
  reporter.note(`${PEERS} dials of a machine …`);
  reporter.report("webrtc_rss_no_peer", await settledMiB(pid), "MiB");
  const open: RtcPeer[] = [];
  const dials: number[] = [];
  const processor: number[] = [];
  for (let n = 0; n < PEERS; n++) {
    const usedMs = await processorMs(pid);
    const started = performance.now();
    open.push(await dial());
    dials.push(performance.now() - started);
    processor.push(await processorMs(pid) - usedMs);
    if (n === 0) reporter.report("webrtc_rss_1_peer", await settledMiB(pid), "MiB");
  }
  reporter.report("webrtc_first_dial", dials[0] ?? NaN, "ms");
  reporter.report("webrtc_dial_p50", percentile(dials.slice(1), 0.5), "ms");
  reporter.report("webrtc_first_dial_processor", processor[0] ?? NaN, "ms");
  reporter.report("webrtc_dial_processor_p50", percentile(processor.slice(1), 0.5), "ms");
  reporter.report("webrtc_rss_10_peers", await settledMiB(pid), "MiB");

  reporter.note(`${CALLS} GetReadings over WebRTC …`);
  const [peer] = open;
  if (!peer) return;
  const calls: number[] = [];
  const readings = createClient(SensorService, createDataChannelTransport(peer.channel));
  for (let n = -CALLS / 10; n < CALLS; n++) {
    const started = performance.now();
    await readings.getReadings({ name: "fake" });
    if (n >= 0) calls.push(performance.now() - started);
  }
  reporter.report("webrtc_get_readings_p50", percentile(calls, 0.5), "ms");
  reporter.report("webrtc_get_readings_p99", percentile(calls, 0.99), "ms");
  await Promise.all(open.map((one) => one.close()));
}

/** Connects two peers of this process. */
async function warmUp(): Promise<void> {
  const rtc = { iceServers: [], trickle: false, signal };
  const { peer, sdp, accept } = await peers.offer(rtc);
  const answer = await peers.answer(sdp, rtc);
  await accept(answer.sdp);
  await Promise.all([peer.opened, answer.peer.opened]);
  await Promise.all([peer.close(), answer.peer.close()]);
}

async function benchBytes(reporter: Reporter): Promise<void> {
  reporter.note(`${POURED_BYTES >> 20} MiB to another process and back …`);
  const { peer, sdp, accept } = await peers.offer({ iceServers: [], trickle: false, signal });
  const other = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", PEER, encodeSdp({ type: "offer", sdp })],
    stdin: "null",
    stdout: "piped",
  }).spawn();
  const [answer = ""] = (await firstLine(other.stdout)).split("\n");
  await accept(decodeSdp(answer).sdp);
  const opening = performance.now();
  await peer.opened;
  reporter.report("webrtc_answer_to_open", performance.now() - opening, "ms");

  const { channel } = peer;
  const trips: number[] = [];
  for (let n = -CALLS / 10; n < CALLS; n++) {
    const started = performance.now();
    const back = drain(channel, 100);
    channel.send(new Uint8Array(100));
    await back;
    if (n >= 0) trips.push(performance.now() - started);
  }
  reporter.report("webrtc_round_trip_p50", percentile(trips, 0.5), "ms");

  const received = drain(channel, POURED_BYTES);
  const order = new Uint8Array(4);
  new DataView(order.buffer).setUint32(0, POURED_BYTES);
  let started = performance.now();
  channel.send(order);
  await received;
  reporter.report("webrtc_receives", megabytesASecond(started), "MB/s");
  started = performance.now();
  const echoed = drain(channel, POURED_BYTES);
  await Promise.all([pour(channel, POURED_BYTES), echoed]);
  reporter.report("webrtc_both_ways", megabytesASecond(started), "MB/s");
  await peer.close();
  await other.status;
}

function megabytesASecond(startedMs: number): number {
  return POURED_BYTES / 1e3 / (performance.now() - startedMs);
}

async function settledMiB(pid: number): Promise<number> {
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  return await residentMiB(pid);
}

async function firstLine(output: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    if (text.includes("\n")) break;
  }
  return text;
}
