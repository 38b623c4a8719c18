/** Callers that misuse a machine's video: what they cause is bounded, and others are served. */
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import assert from "node:assert/strict";
import { join } from "node:path";
import { StreamService } from "../../shared/gen/proto/stream/v1/stream_pb.ts";
import { createGrpcTransport } from "../../shared/rpc/client/grpc_transport.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { eventually, type Rig, rigTest } from "../e2e/rig.ts";
import { HostileViewer } from "./hostile_viewer.ts";
import { runToEnd } from "../e2e/run_to_end.ts";

const ignore = ignoreWithout(import.meta.url, "ffmpeg");
const DEADLINE_MS = 120_000;

/** A machine with a camera; how many encoders it runs. */
async function machine(rig: Rig, auth?: unknown) {
  const file = join(rig.dir, "video.json");
  const camera = {
    ...{ name: "front", api: "rdk:component:camera", model: "rdk:builtin:fake" },
    attributes: { width: 160, height: 90, animated: true },
  };
  const network = { bind_address: `127.0.0.1:${rig.serverPort}` };
  await Deno.writeTextFile(file, JSON.stringify({ network, components: [camera], auth }));
  const { pid } = await rig.startServer([], {}, file);
  return {
    async encoders() {
      const { stdout } = await runToEnd("ps", { args: ["-o", "ppid=,comm=", "-e"] });
      return new TextDecoder().decode(stdout).split("\n")
        .filter((line) => new RegExp(`^\\s*${pid} ffmpeg`).test(line)).length;
    },
  };
}

async function viewerOf(rig: Rig): Promise<HostileViewer> {
  const signaling = createGrpcTransport({ baseUrl: rig.serverUrl });
  try {
    return await HostileViewer.dial(signaling, "localhost");
  } finally {
    signaling.close();
  }
}

const refused = async (call: Promise<unknown>, code: Code, text: RegExp) =>
  await assert.rejects(
    call,
    (error) => ConnectError.from(error).code === code && text.test(String(error)),
  );

rigTest(
  "viewers that come and go, and change the size all the time, cost one encoder",
  async (rig) => {
    const { encoders } = await machine(rig);
    await using viewer = await viewerOf(rig);
    const streams = createClient(StreamService, viewer.transport);
    let most = 0;
    for (let round = 0; round < 30; round++) {
      await streams.addStream({ name: "front" });
      const width = 160 + 2 * (round % 2);
      await streams.setStreamOptions({ name: "front", resolution: { width, height: 90 } });
      most = Math.max(most, await encoders());
      await streams.removeStream({ name: "front" });
    }
    // One ends while the next begins.
    assert.ok(most <= 2, `${most} encoders ran`);
    await absurdRequests(streams);
    await eventually("no encoder", async () => await encoders() === 0, DEADLINE_MS);
  },
  { ignore },
);

async function absurdRequests(
  { addStream, setStreamOptions }: Client<typeof StreamService>,
): Promise<void> {
  for (const name of ["", "nobody", "a=mid:0\r\nm=video", "x".repeat(100_000)]) {
    await refused(addStream({ name }), Code.NotFound, /there is no camera/);
  }
  const set = (width: number, height: number) =>
    setStreamOptions({ name: "front", resolution: { width, height } });
  await refused(set(7680, 7680), Code.InvalidArgument, /58982400 pixels/);
  await refused(set(-2, 2), Code.InvalidArgument, /resolution\.width is -2/);
}

rigTest("a flood of offers, and a viewer that answers none, hold nobody up", async (rig) => {
  await machine(rig);
  await using other = await viewerOf(rig);
  await using viewer = await viewerOf(rig);
  const streams = createClient(StreamService, viewer.transport);
  await streams.addStream({ name: "front" });
  const [offer] = viewer.received;
  assert.equal(offer?.type, "offer");
  const mine = viewer.asMine(offer!.sdp);
  for (let count = 0; count < 300; count++) {
    viewer.send({ type: "offer", sdp: count % 2 ? mine : mine + "m=\r\n".repeat(2_000) });
  }
  await createClient(StreamService, other.transport).listStreams({});
  await streams.listStreams({});
  const answers = viewer.received.filter(({ type }) => type === "answer").length;
  assert.ok(answers > 0 && answers < 300, `${answers} of 300 offers were answered`);

  await streams.removeStream({ name: "front" });
  viewer.takesVideo = false;
  await refused(streams.addStream({ name: "front" }), Code.Unavailable, /did not answer the offer/);
  viewer.takesVideo = true;
  await eventually("video again", async () => {
    await streams.addStream({ name: "front" });
    return true;
  }, DEADLINE_MS);
}, { ignore });

rigTest("a viewer that reads nothing any more is left, and its encoder ends", async (rig) => {
  const { encoders } = await machine(rig);
  const viewer = await viewerOf(rig);
  const streams = createClient(StreamService, viewer.transport);
  await streams.addStream({ name: "front" });
  await eventually("an encoder", async () => await encoders() === 1, DEADLINE_MS);
  await viewer.vanish();
  await eventually("no encoder", async () => await encoders() === 0, DEADLINE_MS);
}, { ignore });

rigTest("who does not sign in gets no connection, and no video", async (rig) => {
  await machine(rig, { handlers: [{ type: "api-key", config: { id: "a-key" } }] });
  await assert.rejects(
    () => viewerOf(rig),
    (error) => ConnectError.from(error).code === Code.Unauthenticated,
  );
  const transport = createGrpcTransport({ baseUrl: rig.serverUrl });
  const streams = createClient(StreamService, transport);
  for (const call of [streams.addStream, streams.getStreamOptions, streams.removeStream]) {
    await refused(call({ name: "front" }), Code.Unauthenticated, /./);
  }
  transport.close();
});
