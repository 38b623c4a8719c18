import assert from "node:assert/strict";
import {
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameType,
  ProtocolError,
} from "./frames.ts";
import { encodeHeaders } from "./hpack_testing.ts";
import { Incoming, type IncomingEvents } from "./incoming.ts";

const SETTINGS = encodeSettings([]);
const BLOCK = encodeHeaders([":status", "200", "x", "y"]);
const { data, headers, continuation, priority, rstStream, settings, ping, goaway, windowUpdate } =
  FrameType;

/** What comes of the frames, one line for each event. */
function events(...frames: Uint8Array[]): string[] {
  const lines: string[] = [];
  const note = (name: keyof IncomingEvents) => (...args: unknown[]) =>
    void lines.push(
      [name, ...args.map((arg) => arg instanceof Uint8Array ? arg.toHex() : JSON.stringify(arg))]
        .join(" "),
    );
  const incoming = new Incoming({
    overhead: () => undefined,
    data: note("data"),
    headers: (...args) => note("headers")(...args.slice(0, 3)),
    reset: note("reset"),
    settings: note("settings"),
    ping: note("ping"),
    goaway: note("goaway"),
    windowUpdate: note("windowUpdate"),
  });
  for (const frame of frames) incoming.push(frame);
  return lines;
}

const frame = encodeFrame;
const EMPTY = new Uint8Array(0);

Deno.test("Incoming makes events of frames", () => {
  const cases: [Uint8Array[], string[]][] = [
    [[frame(data, Flag.endStream, 1, Uint8Array.of(7))], ["data 1 07 1 true"]],
    [[frame(data, Flag.padded, 3, Uint8Array.of(1, 7, 0))], ["data 3 07 3 false"]],
    [[frame(headers, Flag.endHeaders, 1, BLOCK)], [
      'headers 1 [":status","200","x","y"] false',
    ]],
    [[encodeNumberFrame(rstStream, 5, 8)], ["reset 5 8"]],
    [[encodeSettings([[3, 7]])], ["settings [[3,7]]"]],
    [[frame(settings, Flag.ack, 0)], []],
    [[frame(ping, 0, 0, new Uint8Array(8))], ["ping 0000000000000000"]],
    [[frame(ping, Flag.ack, 0, new Uint8Array(8))], []],
    [[encodeGoaway({ lastStreamId: 1, code: 0, text: "" })], [
      'goaway {"lastStreamId":1,"code":0,"text":""}',
    ]],
    [[encodeNumberFrame(windowUpdate, 0, 9)], ["windowUpdate 0 9"]],
    [[frame(priority, 0, 1, Uint8Array.of(0, 0, 0, 3, 1)), frame(0x55, 0xff, 9, BLOCK)], []],
  ];
  for (const [frames, expected] of cases) {
    assert.deepEqual(events(SETTINGS, ...frames), ["settings []", ...expected]);
  }
});

Deno.test("Incoming puts headers together that come in several frames", () => {
  const frames = [
    frame(headers, Flag.endStream, 1, BLOCK.subarray(0, 5)),
    frame(continuation, 0, 1, EMPTY),
    frame(continuation, Flag.endHeaders, 1, BLOCK.subarray(5)),
  ];
  assert.deepEqual(events(SETTINGS, ...frames)[1], 'headers 1 [":status","200","x","y"] true');
});

Deno.test("Incoming refuses what is against the protocol", () => {
  const part = frame(headers, 0, 1, BLOCK);
  const parts = Array.from({ length: 6 }, () => frame(continuation, 0, 1, new Uint8Array(16_384)));
  const empties = Array.from({ length: 100 }, () => frame(continuation, 0, 1, EMPTY));
  const { protocolError, frameSizeError, compressionError, enhanceYourCalm } = ErrorCode;
  const cases: Record<string, [number, ...Uint8Array[]]> = {
    "another frame inside headers": [protocolError, part, frame(data, 0, 1, EMPTY)],
    "an unknown frame inside headers": [protocolError, part, frame(0x55, 0, 1)],
    "headers that go on on another stream": [protocolError, part, frame(continuation, 4, 3, BLOCK)],
    "a CONTINUATION of nothing": [protocolError, frame(continuation, 4, 1, BLOCK)],
    "headers that are too large": [enhanceYourCalm, part, ...parts],
    "headers in too many frames": [enhanceYourCalm, part, ...empties],
    "headers that are none": [compressionError, frame(headers, 4, 1, Uint8Array.of(0x80))],
    "DATA without a stream": [protocolError, frame(data, 0, 0)],
    "HEADERS without a stream": [protocolError, frame(headers, 4, 0, BLOCK)],
    "PRIORITY of a wrong size": [frameSizeError, frame(priority, 0, 1, new Uint8Array(4))],
    "PRIORITY without a stream": [protocolError, frame(priority, 0, 0, new Uint8Array(5))],
    "PRIORITY of a stream over itself": [
      protocolError,
      frame(priority, 0, 7, Uint8Array.of(0x80, 0, 0, 7, 1)),
    ],
    "HEADERS of a stream that depends on itself": [
      protocolError,
      frame(headers, 0x2c, 7, Uint8Array.of(0, 0, 0, 0, 7, 1, ...BLOCK)),
    ],
    "RST_STREAM of a wrong size": [frameSizeError, frame(rstStream, 0, 1, new Uint8Array(3))],
    "RST_STREAM without a stream": [protocolError, encodeNumberFrame(rstStream, 0, 8)],
    "SETTINGS on a stream": [protocolError, frame(settings, 0, 1)],
    "SETTINGS of a wrong size": [frameSizeError, frame(settings, 0, 0, new Uint8Array(5))],
    "an ACK with settings": [frameSizeError, frame(settings, Flag.ack, 0, new Uint8Array(6))],
    "PING on a stream": [protocolError, frame(ping, 0, 1, new Uint8Array(8))],
    "PING of a wrong size": [frameSizeError, frame(ping, 0, 0, new Uint8Array(7))],
    "GOAWAY on a stream": [protocolError, frame(goaway, 0, 1, new Uint8Array(8))],
    "GOAWAY of a wrong size": [frameSizeError, frame(goaway, 0, 0, new Uint8Array(7))],
    "WINDOW_UPDATE of nothing": [protocolError, encodeNumberFrame(windowUpdate, 0, 0)],
    "WINDOW_UPDATE of a wrong size": [frameSizeError, frame(windowUpdate, 0, 0, EMPTY)],
    "PUSH_PROMISE": [protocolError, frame(FrameType.pushPromise, 4, 1, new Uint8Array(8))],
  };
  for (const [what, [code, ...frames]] of Object.entries(cases)) {
    assert.throws(
      () => events(SETTINGS, ...frames),
      (error: ProtocolError) => error.code === code,
      what,
    );
  }
});

Deno.test("Incoming refuses a connection that doesn't begin with SETTINGS", () => {
  for (const first of [frame(ping, 0, 0, new Uint8Array(8)), frame(settings, Flag.ack, 0)]) {
    assert.throws(() => events(first), /begin with SETTINGS/);
  }
  assert.throws(() => events(new TextEncoder().encode("HTTP/1.1 400 Bad Request\r\n\r\n")));
});
