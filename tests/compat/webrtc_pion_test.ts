/** Connections to peers made with pion, which Go programs use. Skipped where there is no Go. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import type { IceCandidate, RtcPeer } from "../../shared/rtc/webrtc/peer.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { buildGoProgram } from "./go_program.ts";

const peers = weriftPeers({ clock: systemClock, log: memoryLogger() });
const ECHOED_BYTES = 8 * 1024 * 1024;
const FRAME_BYTES = 50_000;
/** After it pion is killed, and with it everything that waits for it. */
const DEADLINE_MS = 90_000;
/** A round trip takes a millisecond; a lost packet, 400 more. */
const TRIPS = 20;

interface Line {
  type: "offer" | "answer" | "candidate" | "open";
  sdp?: string;
  candidate?: IceCandidate;
}

const program = await buildGoProgram({ name: "pion-peer", folder: "pion_peer" });
const ignore = ignoreBecause(import.meta.url, program.missing);

for (const begins of ["pion", "we"] as const) {
  Deno.test(
    `a peer made with pion is connected when ${begins === "pion" ? "it offers" : "we offer"}`,
    { ignore },
    async () => {
      const pion = new Deno.Command(program.path, {
        args: [begins === "pion" ? "offer" : "answer"],
        stdin: "piped",
        stdout: "piped",
        signal: AbortSignal.timeout(DEADLINE_MS),
      }).spawn();
      const controller = new AbortController();
      const input = pion.stdin.getWriter();
      try {
        const peer = await introduce(pion.stdout, begins, controller.signal, async (line) => {
          await input.write(new TextEncoder().encode(`${JSON.stringify(line)}\n`));
        });
        await peer.opened;
        for (let trip = 0; trip < TRIPS; trip++) await echo(peer, 1, 100);
        await echo(peer, ECHOED_BYTES / FRAME_BYTES, FRAME_BYTES);
        await peer.close();
        // It ends when its channel is closed.
        assert.equal((await pion.status).code, 0);
      } finally {
        controller.abort();
        try {
          pion.kill("SIGKILL");
        } catch {
          // It has ended.
        }
        await input.abort().catch(() => {});
        await pion.status;
      }
    },
  );
}

/** Exchanges descriptions and candidates; resolves when there is a peer, which reads on. */
async function introduce(
  output: ReadableStream<Uint8Array>,
  begins: "pion" | "we",
  signal: AbortSignal,
  say: (line: Line) => Promise<void>,
): Promise<RtcPeer> {
  const options = { iceServers: [], trickle: true, signal };
  const ours = begins === "we" ? await peers.offer(options) : undefined;
  const made = Promise.withResolvers<RtcPeer>();
  if (ours) {
    await say({ type: "offer", sdp: ours.sdp });
    made.resolve(ours.peer);
  }
  const hear = async ({ type, sdp = "", candidate }: Line) => {
    if (type === "answer") await ours?.accept(sdp);
    // One may come before the offer, which pion says from another goroutine.
    else if (type === "candidate" && candidate) {
      made.promise.then((peer) => peer.addCandidate(candidate)).catch(made.reject);
    } else if (type === "offer") {
      const answer = await peers.answer(sdp, options);
      await say({ type: "answer", sdp: answer.sdp });
      made.resolve(answer.peer);
    }
  };
  readLines(output, hear).then(() => made.reject(new Error("pion said no more")), made.reject);
  return await made.promise;
}

async function readLines(
  output: ReadableStream<Uint8Array>,
  hear: (line: Line) => Promise<void>,
): Promise<void> {
  let text = "";
  for await (const chunk of output.pipeThrough(new TextDecoderStream())) {
    const lines = (text + chunk).split("\n");
    text = lines.pop() ?? "";
    for (const line of lines) await hear(JSON.parse(line));
  }
}

/** Sends frames and compares what comes back. */
async function echo({ channel }: RtcPeer, frames: number, bytes: number): Promise<void> {
  const [sent, received] = [createHash("sha256"), createHash("sha256")];
  let left = Math.ceil(frames);
  const back = new Promise<void>((resolve, reject) => {
    channel.onClosed = (reason) => reject(new Error(reason));
    channel.onMessage = (frame) => {
      received.update(frame);
      if (--left === 0) resolve();
    };
  });
  for (let frame = 0; frame < frames; frame++) {
    const content = new Uint8Array(randomBytes(bytes));
    sent.update(content);
    channel.send(content);
  }
  await back;
  assert.equal(received.digest("hex"), sent.digest("hex"));
}
