/** Floods through real sockets: they end, and other clients are answered meanwhile. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createClient } from "@connectrpc/connect";
import { SensorService } from "../gen/viam/component/sensor/v1/sensor_pb.ts";
import { waitFor } from "../base/time/wait_for.ts";
import {
  encodeFrame,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameCutter,
  FrameType,
  PREFACE,
} from "./h2/frames.ts";
import { encodeHeaders } from "./h2/hpack_testing.ts";
import { MOST_STREAMS } from "./h2/served_connection.ts";
import { RpcRouter } from "./server/router.ts";
import { GET_READINGS, withGrpc, withServer } from "./testing.ts";

const CALLS = 20;
/**
 * Calls of a flood that are begun between a call of another and its answer, in half of the cases: on
 * a loaded computer a single answer may lie in a socket for long.
 */
const MOST_MEANWHILE = 5_000;
const FIELDS = [
  ...[":method", "POST", ":scheme", "http", ":path", `/${GET_READINGS}`],
  ...["content-type", "application/grpc", "te", "trailers"],
];
const REQUEST = encodeHeaders(FIELDS);
const { data, headers, settings, ping, continuation, priority, windowUpdate, goaway } = FrameType;
const open = (id: number) => encodeFrame(headers, Flag.endHeaders, id, REQUEST);
/** An empty message. */
const message = (id: number) => encodeFrame(data, Flag.endStream, id, new Uint8Array(5));
const together = (frames: Uint8Array[]) => new Uint8Array(frames.flatMap((one) => [...one]));

function repeated(frame: Uint8Array, times: number): Uint8Array {
  const result = new Uint8Array(frame.length * times);
  for (let n = 0; n < times; n++) result.set(frame, n * frame.length);
  return result;
}

/** A client that writes as fast as it is read, and what the server reports to it. */
class Flooder {
  readonly socket: Socket;
  /** The code of GOAWAY. */
  code: number | undefined;
  #preface = true;

  /** @param next what to write next; undefined: nothing more. */
  constructor(port: number, next: () => Uint8Array | undefined) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("error", () => this.socket.destroy());
    const cutter = new FrameCutter((type, _flags, _id, payload) => {
      if (type === goaway) this.code ??= payload[7];
    });
    this.socket.on("data", (bytes: Uint8Array) => cutter.push(bytes));
    const more = () => {
      if (this.socket.destroyed || this.code !== undefined) return;
      const bytes = this.#preface ? together([PREFACE, encodeSettings([])]) : next();
      this.#preface = false;
      if (bytes) this.socket.write(bytes, more);
    };
    more();
  }

  async sentAway(): Promise<void> {
    await waitFor(() => this.code !== undefined, { deadlineMs: 60_000, what: "GOAWAY" });
    assert.equal(this.code, ErrorCode.enhanceYourCalm);
    // Not once(): that rejects when the server's end comes as a reset.
    await waitFor(() => this.socket.destroyed, { deadlineMs: 60_000, what: "the socket's end" });
  }
}

/** What comes first, and then what comes again and again. */
function* flood(first: Uint8Array[], then: Uint8Array): Generator<Uint8Array> {
  yield* first;
  for (;;) yield then;
}

/** Those that are sent away. */
const OVERHEAD: Record<string, [first: Uint8Array[], then: Uint8Array]> = {
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
  "unknown frames": [[], repeated(encodeFrame(0x55, 0, 0, new Uint8Array(100)), 1_000)],
};

for (const [what, [first, then]] of Object.entries(OVERHEAD)) {
  Deno.test(`a flood of ${what} is ended`, async () => {
    await withServer({}, async (url) => {
      const bytes = flood(first, then);
      await new Flooder(Number(new URL(url).port), () => bytes.next().value).sentAway();
    });
  });
}

/** Requests without end: each well-formed, of methods that are there and of those that aren't. */
function requests(path: string): () => Uint8Array {
  const block = encodeHeaders(FIELDS.map((field) => field.startsWith("/") ? path : field));
  let id = -1;
  return () => {
    const frames: Uint8Array[] = [];
    for (let n = 0; n < 200; n++) {
      frames.push(encodeFrame(headers, Flag.endHeaders, id += 2, block), message(id));
    }
    return together(frames);
  };
}

const LASTING: Record<string, () => () => Uint8Array | undefined> = {
  calls: () => requests(`/${GET_READINGS}`),
  "calls of nothing": () => requests("/no.such.Service/Method"),
  "requests that hang": () => {
    const all = Array.from({ length: MOST_STREAMS }, (_, n) => open(2 * n + 1));
    return () => all.length > 0 ? together(all.splice(0, 100)) : undefined;
  },
  "DATA of one message without end": () => {
    const bytes = flood(
      [open(1), encodeFrame(data, 0, 1, Uint8Array.of(0, 1, 0xff, 0, 0))],
      repeated(encodeFrame(data, 0, 1, new Uint8Array(20)), 1_000),
    );
    return () => bytes.next().value;
  },
};

for (const [what, bytes] of Object.entries(LASTING)) {
  Deno.test(`others are answered while four flood with ${what}`, async () => {
    let floodCalls = 0;
    const router = new RpcRouter().service(SensorService, {
      getReadings({ name }) {
        if (name === "") floodCalls++;
        return {};
      },
    });
    await withGrpc({ router }, async (transport, url) => {
      const port = Number(new URL(url).port);
      const flooders = Array.from({ length: 4 }, () => new Flooder(port, bytes()));
      try {
        await Promise.all(flooders.map(({ socket }) => once(socket, "data")));
        const sensor = createClient(SensorService, transport);
        await sensor.getReadings({ name: "s" });
        const meanwhile: number[] = [];
        for (let n = 0; n < CALLS; n++) {
          const before = floodCalls;
          await sensor.getReadings({ name: "s" }, { timeoutMs: 90_000 });
          meanwhile.push(floodCalls - before);
        }
        const median = meanwhile.sort((a, b) => a - b)[CALLS / 2]!;
        assert.ok(median <= MOST_MEANWHILE, `calls of others before each: ${meanwhile.join()}`);
      } finally {
        for (const { socket } of flooders) socket.destroy();
      }
    });
  });
}

/** What follows each request, so that its stream is over at once while its handler runs on. */
const PROVOKED: Record<string, (id: number) => Uint8Array[]> = {
  "windows that are too large": (id) => [
    open(id),
    message(id),
    encodeNumberFrame(windowUpdate, id, 0x7fff_ffff),
  ],
  "data after the end": (id) => [open(id), message(id), message(id)],
  "trailers after the end": (id) => [
    open(id),
    message(id),
    encodeFrame(headers, Flag.endHeaders | Flag.endStream, id, encodeHeaders(["a", "b"])),
  ],
  RST_STREAM: (id) => [
    open(id),
    message(id),
    encodeNumberFrame(FrameType.rstStream, id, ErrorCode.cancel),
  ],
  "deadlines that are over": (id) => [
    encodeFrame(headers, Flag.endHeaders, id, encodeHeaders([...FIELDS, "grpc-timeout", "1n"])),
    message(id),
  ],
};

for (const [what, frames] of Object.entries(PROVOKED)) {
  Deno.test(`${what} make no more handlers run than the limit, and end the connection`, async () => {
    let running = 0;
    const end = Promise.withResolvers<void>();
    const router = new RpcRouter().service(SensorService, {
      async getReadings() {
        running++;
        await end.promise;
        return {};
      },
    });
    await withServer({ router }, async (url) => {
      let id = -1;
      const flooder = new Flooder(Number(new URL(url).port), () => {
        const bytes: Uint8Array[] = [];
        for (let n = 0; n < 50; n++) bytes.push(...frames(id += 2));
        return together(bytes);
      });
      await flooder.sentAway();
      assert.ok(running > 0 && running <= MOST_STREAMS, `${running} handlers`);
      end.resolve();
    });
  });
}
