import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { FlvReader, type FrameReader, IvfReader } from "./containers.ts";

const ivfFrame = (...bytes: number[]) => {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(bytes.length);
  return Buffer.concat([header, Buffer.from(bytes)]);
};
const ivfHeader = Buffer.concat([Buffer.from("DKIF"), Buffer.alloc(28)]);

const flvTag = (type: number, ...body: number[]) => {
  const header = Buffer.alloc(11);
  header[0] = type;
  header.writeUIntBE(body.length, 1, 3);
  return Buffer.concat([header, Buffer.from(body), Buffer.alloc(4)]);
};
const flvHeader = Buffer.concat([Buffer.from("FLV"), Buffer.alloc(10)]);
const CONFIGURATION = [1, 66, 0, 31, 255, 0xe1, 0, 2, 0x67, 1, 1, 0, 1, 0x68];

/** What is read when the bytes come one by one, and all at once. */
function read(make: () => FrameReader, bytes: Buffer) {
  const reader = make();
  const slowly = [...bytes].flatMap((byte) => reader.read(Uint8Array.of(byte)));
  const plain = (frames: typeof slowly) =>
    frames.map(({ data, isKeyframe }) => ({ data: [...data], isKeyframe }));
  assert.deepEqual(plain(make().read(bytes)), plain(slowly));
  return plain(slowly);
}

Deno.test("IvfReader gives VP8 frames, whatever pieces they come in", () => {
  const bytes = Buffer.concat([ivfHeader, ivfFrame(0x10, 5), ivfFrame(0x11), ivfFrame()]);
  assert.deepEqual(read(() => new IvfReader(), bytes), [
    { data: [0x10, 5], isKeyframe: true },
    { data: [0x11], isKeyframe: false },
  ]);
  assert.throws(() => new IvfReader().read(Buffer.alloc(40)), /writes no IVF/);
  const huge = Buffer.concat([ivfHeader, Buffer.alloc(12, 255)]);
  assert.throws(() => new IvfReader().read(huge), /a frame of \d+ bytes/);
});

Deno.test("FlvReader gives H.264 with start codes, and parameter sets before keyframes", () => {
  const bytes = Buffer.concat([
    flvHeader,
    flvTag(18, 1, 2, 3),
    flvTag(9, 0x17, 0, 0, 0, 0, ...CONFIGURATION),
    flvTag(9, 0x17, 1, 0, 0, 0, 0, 0, 0, 2, 0x65, 9),
    flvTag(9, 0x27, 1, 0, 0, 0, 0, 0, 0, 1, 0x41),
    flvTag(9, 0x17, 2, 0, 0, 0),
  ]);
  assert.deepEqual(read(() => new FlvReader(), bytes), [
    { data: [0, 0, 0, 1, 0x67, 1, 0, 0, 0, 1, 0x68, 0, 0, 0, 1, 0x65, 9], isKeyframe: true },
    { data: [0, 0, 0, 1, 0x41], isKeyframe: false },
  ]);
  assert.throws(() => new FlvReader().read(Buffer.alloc(40)), /writes no FLV/);
});
