/**
 * The other end of a WebRTC connection, as a process of its own: takes base64 of an offer as its
 * argument and prints that of its answer. A message of 4 bytes requests so many bytes; all others
 * are sent back.
 */
import { decodeSdp, encodeSdp } from "../../shared/rtc/signaling/sdp.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { pour } from "./webrtc_pour.ts";

const peers = weriftPeers({ clock: systemClock, log: memoryLogger() });
const { sdp: offer } = decodeSdp(Deno.args[0] ?? "");
const signal = new AbortController().signal;
const { peer, sdp } = await peers.answer(offer, { iceServers: [], trickle: false, signal });
peer.channel.onMessage = (bytes) => {
  const message = new Uint8Array(bytes);
  if (message.length === 4) void pour(peer.channel, new DataView(message.buffer).getUint32(0));
  else peer.channel.send(message);
};
await Deno.stdout.write(new TextEncoder().encode(encodeSdp({ type: "answer", sdp }) + "\n"));
await peer.closed;
