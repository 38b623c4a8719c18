import assert from "node:assert/strict";
import {
  decodeGoaway,
  decodeNumber,
  decodeSettings,
  encodeFrame,
  encodeGoaway,
  encodeNumberFrame,
  encodeSettings,
  ErrorCode,
  Flag,
  FrameCutter,
  FrameType,
  ProtocolError,
  Setting,
  unpadded,
} from "./frames.ts";

const hex = (bytes: Uint8Array) => bytes.toHex();
const bytes = (...all: number[]) => Uint8Array.from(all);

Deno.test("encodeFrame() and its kin give the bytes of RFC 9113", () => {
  const cases: [Uint8Array, string][] = [
    [encodeFrame(FrameType.data, Flag.endStream, 1, bytes(7, 8)), "000002000100000001" + "0708"],
    [encodeFrame(FrameType.settings, Flag.ack, 0), "000000040100000000"],
    [
      encodeSettings([[Setting.enablePush, 0], [Setting.initialWindowSize, 0x12345678]]),
      "00000c040000000000" + "000200000000" + "000412345678",
    ],
    [encodeNumberFrame(FrameType.windowUpdate, 0x7fffffff, 0xffff), "00000408007fffffff0000ffff"],
    [
      encodeGoaway({ lastStreamId: 5, code: ErrorCode.enhanceYourCalm, text: "no" }),
      "00000a070000000000" + "000000050000000b6e6f",
    ],
  ];
  for (const [frame, expected] of cases) assert.equal(hex(frame), expected);
});

Deno.test("FrameCutter gives the frames, wherever the chunks are cut", () => {
  const stream = new Uint8Array([
    ...encodeFrame(FrameType.data, 0, 3, new Uint8Array(300).fill(5)),
    ...encodeFrame(FrameType.ping, 0, 0, new Uint8Array(8)),
    ...encodeFrame(0xfe, 0xff, 0x7fffffff),
    ...encodeFrame(FrameType.headers, Flag.endHeaders, 3, bytes(0x88)),
  ]);
  const whole = ["0 0 3 300", "6 0 0 8", "254 255 2147483647 0", "1 4 3 1"];
  for (let size = 1; size <= stream.length; size++) {
    const seen: string[] = [];
    const cutter = new FrameCutter((type, flags, streamId, payload) => {
      if (type === FrameType.data) assert.ok(payload.every((byte) => byte === 5));
      seen.push([type, flags, streamId, payload.length].join(" "));
    });
    for (let at = 0; at < stream.length; at += size) cutter.push(stream.subarray(at, at + size));
    assert.deepEqual(seen, whole, `chunks of ${size}`);
  }
});

Deno.test("FrameCutter leaves the reserved bit of stream numbers out", () => {
  const frame = encodeFrame(FrameType.data, 0, 1);
  frame[5] = 0x80;
  let seen = 0;
  new FrameCutter((_type, _flags, streamId) => seen = streamId).push(frame);
  assert.equal(seen, 1);
});

Deno.test("FrameCutter refuses a frame over 16 KiB, also when its header comes in pieces", () => {
  const tooLarge = (error: ProtocolError) => error.code === ErrorCode.frameSizeError;
  const header = encodeFrame(FrameType.data, 0, 1, new Uint8Array(16_385)).subarray(0, 9);
  assert.throws(() => new FrameCutter(() => {}).push(header), tooLarge);
  const cutter = new FrameCutter(() => {});
  cutter.push(header.subarray(0, 4));
  assert.throws(() => cutter.push(header.subarray(4)), tooLarge);
  const exact = encodeFrame(FrameType.data, 0, 1, new Uint8Array(16_384));
  let seen = 0;
  new FrameCutter((_t, _f, _s, { length }) => seen = length).push(exact);
  assert.equal(seen, 16_384);
});

Deno.test("decodeSettings() gives pairs, and refuses what can't be", () => {
  const payload = (...settings: [number, number][]) => encodeSettings(settings).subarray(9);
  assert.deepEqual(decodeSettings(payload([1, 0], [0xabcd, 0xffffffff])), [
    [1, 0],
    [0xabcd, 0xffffffff],
  ]);
  const cases: [Uint8Array, number][] = [
    [bytes(1, 2, 3), ErrorCode.frameSizeError],
    [payload([Setting.initialWindowSize, 0x80000000]), ErrorCode.flowControlError],
    [payload([Setting.maxFrameSize, 16_383]), ErrorCode.protocolError],
    [payload([Setting.maxFrameSize, 0x1000000]), ErrorCode.protocolError],
  ];
  for (const [wrong, code] of cases) {
    assert.throws(() => decodeSettings(wrong), (error: ProtocolError) => error.code === code);
  }
});

Deno.test("decodeGoaway() and decodeNumber() read what was written, and refuse other sizes", () => {
  const goaway = { lastStreamId: 0x7fffffff, code: 2, text: "déjà" };
  assert.deepEqual(decodeGoaway(encodeGoaway(goaway).subarray(9)), goaway);
  assert.equal(decodeNumber(encodeNumberFrame(3, 1, 0xfffffffe).subarray(9), "X"), 0xfffffffe);
  assert.throws(() => decodeGoaway(new Uint8Array(7)), /GOAWAY frame of 7 bytes/);
  assert.throws(() => decodeNumber(new Uint8Array(5), "RST_STREAM"), /RST_STREAM frame of 5 bytes/);
});

Deno.test("unpadded() takes padding and priority away", () => {
  const { data, headers } = FrameType;
  const { padded, priority } = Flag;
  const cases: [number, number, Uint8Array, string | undefined][] = [
    [data, 0, bytes(1, 2), "0102"],
    [data, padded, bytes(2, 7, 0, 0), "07"],
    [data, padded, bytes(3, 0, 0, 0), ""],
    [data, padded, bytes(4, 0, 0, 0), undefined],
    [data, padded, bytes(), undefined],
    [data, priority, bytes(1, 2), "0102"],
    [headers, priority, bytes(0, 0, 0, 0, 9, 7), "07"],
    [headers, priority, bytes(0, 0, 0, 0), undefined],
    [headers, priority | padded, bytes(1, 0, 0, 0, 0, 9, 7, 0), "07"],
    [headers, priority | padded, bytes(2, 0, 0, 0, 0, 9, 0), undefined],
  ];
  for (const [type, flags, payload, expected] of cases) {
    if (expected === undefined) assert.throws(() => unpadded(type, flags, payload), ProtocolError);
    else assert.equal(hex(unpadded(type, flags, payload)), expected);
  }
});

Deno.test("FrameCutter keeps frames of several connections apart", () => {
  const seen: string[] = [];
  const cutters = [1, 2, 3].map((n) =>
    new FrameCutter((_type, _flags, streamId, payload) => {
      assert.ok(payload.every((byte) => byte === n));
      seen.push(`${n} ${streamId} ${payload.length}`);
    })
  );
  const frames = cutters.map((_, at) =>
    encodeFrame(FrameType.data, 0, at + 1, new Uint8Array(100).fill(at + 1))
  );
  // Each begins while others are incomplete, and again with a buffer that another one gave back.
  for (const round of [1, 2]) {
    for (let at = 0; at < 109; at += 10 * round) {
      cutters.forEach((cutter, n) => cutter.push(frames[n]!.subarray(at, at + 10 * round)));
    }
  }
  assert.deepEqual(seen, ["1 1 100", "2 2 100", "3 3 100", "1 1 100", "2 2 100", "3 3 100"]);
});

Deno.test("FrameCutter keeps no buffer while no frame is incomplete", () => {
  const before = Deno.memoryUsage().external;
  const frame = encodeFrame(FrameType.ping, 0, 0, new Uint8Array(8));
  const cutters = Array.from({ length: 1_000 }, () => {
    const cutter = new FrameCutter(() => undefined);
    for (const part of [frame.subarray(0, 4), frame.subarray(4)]) cutter.push(part);
    return cutter;
  });
  const each = (Deno.memoryUsage().external - before) / cutters.length;
  assert.ok(each < 2_000, `${each} bytes each`);
});
