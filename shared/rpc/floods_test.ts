/** Floods through real sockets: other clients are answered meanwhile. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createClient } from "@connectrpc/connect";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { encodeFrame, encodeSettings, Flag, FrameType, PREFACE } from "./h2/frames.ts";
import { encodeHeaders } from "./h2/hpack.ts";
import { GET_READINGS, withGrpc } from "./testing.ts";

const CALLS = 20;
const REQUEST = encodeHeaders([
  ...[":method", "POST", ":scheme", "http", ":path", `/${GET_READINGS}`],
  ...["content-type", "application/grpc", "te", "trailers"],
]);
const { data, headers, settings, ping, continuation, priority } = FrameType;
const open = (id: number) => encodeFrame(headers, Flag.endHeaders, id, REQUEST);

function repeated(frame: Uint8Array, times: number): Uint8Array {
  const result = new Uint8Array(frame.length * times);
  for (let n = 0; n < times; n++) result.set(frame, n * frame.length);
  return result;
}

/** What comes first, and what comes again and again. */
const FLOODS: Record<string, [first: Uint8Array[], then: Uint8Array]> = {
  "CONTINUATION without end": [
    [encodeFrame(headers, 0, 1, REQUEST)],
    repeated(encodeFrame(continuation, 0, 1), 1_000),
  ],
  SETTINGS: [[], repeated(encodeFrame(settings, 0, 0, Uint8Array.of(0, 4, 0, 0, 9, 9)), 1_000)],
  PING: [[], repeated(encodeFrame(ping, 0, 0, new Uint8Array(8)), 1_000)],
  PRIORITY: [[], repeated(encodeFrame(priority, 0, 3, Uint8Array.of(0, 0, 0, 1, 1)), 1_000)],
  "empty DATA": [[open(1)], repeated(encodeFrame(data, 0, 1), 1_000)],
  "padded DATA of one byte": [
    [open(1), encodeFrame(data, 0, 1, Uint8Array.of(0, 1, 0, 0, 0))],
    repeated(encodeFrame(data, Flag.padded, 1, new Uint8Array(202).fill(200, 0, 1)), 200),
  ],
  "1,000 requests that hang": [Array.from({ length: 1_000 }, (_, n) => open(2 * n + 1)), PREFACE],
};

/** Writes as fast as it is read, until the socket is closed. */
function flood(port: number, [first, then]: [Uint8Array[], Uint8Array]): Socket {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.resume();
  for (const bytes of [PREFACE, encodeSettings([]), ...first]) socket.write(bytes);
  if (then === PREFACE) return socket;
  const more = () => socket.destroyed || socket.write(then, more);
  more();
  return socket;
}

for (const [what, bytes] of Object.entries(FLOODS)) {
  Deno.test(`others are answered during a flood of ${what}`, async () => {
    await withGrpc({}, async (transport, url) => {
      const socket = flood(Number(new URL(url).port), bytes);
      try {
        await once(socket, "connect");
        const sensor = createClient(SensorService, transport);
        for (let n = 0; n < CALLS; n++) {
          const { readings } = await sensor.getReadings({ name: "s" }, { timeoutMs: 20_000 });
          assert.equal(readings["name"]?.kind.value, "s");
        }
      } finally {
        socket.destroy();
      }
    });
  });
}
