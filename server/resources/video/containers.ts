/** Reads the containers in which encoders write video to a pipe: one frame at once. Pure. */
import { Buffer } from "node:buffer";
import type { EncodedFrame } from "./encoded_source.ts";

/** Takes bytes as they come, and gives the frames that are whole. */
export interface FrameReader {
  /** @throws Error when it is not the container it should be. */
  read(bytes: Uint8Array): EncodedFrame[];
}

/** Longer frames are no frames. */
const LONGEST_FRAME = 16 * 1024 * 1024;

/** Pieces of a stream, put together as far as a reader needs. */
class Pending {
  #bytes: Buffer = Buffer.alloc(0);

  get length(): number {
    return this.#bytes.length;
  }

  add(bytes: Uint8Array): void {
    this.#bytes = this.#bytes.length === 0
      ? Buffer.from(bytes)
      : Buffer.concat([this.#bytes, bytes]);
  }

  peek(length: number): Buffer | undefined {
    return this.#bytes.length < length ? undefined : this.#bytes.subarray(0, length);
  }

  take(length: number): Buffer {
    const taken = this.#bytes.subarray(0, length);
    this.#bytes = this.#bytes.subarray(length);
    return taken;
  }
}

const IVF_HEADER = 32;
const IVF_FRAME_HEADER = 12;

/** VP8 in IVF: a header, then each frame after its length and time. */
export class IvfReader implements FrameReader {
  readonly #pending = new Pending();
  #isBegun = false;

  read(bytes: Uint8Array): EncodedFrame[] {
    this.#pending.add(bytes);
    if (!this.#isBegun) {
      const header = this.#pending.peek(IVF_HEADER);
      if (!header) return [];
      if (header.toString("latin1", 0, 4) !== "DKIF") throw new Error("the encoder writes no IVF");
      this.#pending.take(IVF_HEADER);
      this.#isBegun = true;
    }
    const frames: EncodedFrame[] = [];
    for (let header; (header = this.#pending.peek(IVF_FRAME_HEADER));) {
      const length = header.readUInt32LE(0);
      if (length > LONGEST_FRAME) {
        throw new Error(`the encoder writes a frame of ${length} bytes`);
      }
      if (this.#pending.length < IVF_FRAME_HEADER + length) break;
      const data = this.#pending.take(IVF_FRAME_HEADER + length).subarray(IVF_FRAME_HEADER);
      // RFC 6386, 9.1: the lowest bit says that it depends on another frame.
      if (length > 0) frames.push({ data, isKeyframe: ((data[0] ?? 1) & 1) === 0 });
    }
    return frames;
  }
}

const FLV_HEADER = 13;
const FLV_TAG_HEADER = 11;
const FLV_TAG_TRAILER = 4;
const FLV_VIDEO = 9;
const FLV_AVC = 7;
const START_CODE = Buffer.from([0, 0, 0, 1]);

/** H.264 in FLV, given in Annex B form with the parameter sets before each keyframe. */
export class FlvReader implements FrameReader {
  readonly #pending = new Pending();
  #isBegun = false;
  #parameterSets: Buffer = Buffer.alloc(0);

  read(bytes: Uint8Array): EncodedFrame[] {
    this.#pending.add(bytes);
    if (!this.#isBegun) {
      const header = this.#pending.peek(FLV_HEADER);
      if (!header) return [];
      if (header.toString("latin1", 0, 3) !== "FLV") throw new Error("the encoder writes no FLV");
      this.#pending.take(FLV_HEADER);
      this.#isBegun = true;
    }
    const frames: EncodedFrame[] = [];
    for (let header; (header = this.#pending.peek(FLV_TAG_HEADER));) {
      const length = header.readUIntBE(1, 3);
      const whole = FLV_TAG_HEADER + length + FLV_TAG_TRAILER;
      if (this.#pending.length < whole) break;
      const isVideo = header[0] === FLV_VIDEO;
      const body = this.#pending.take(whole).subarray(FLV_TAG_HEADER, FLV_TAG_HEADER + length);
      const frame = isVideo ? this.#videoFrame(body) : undefined;
      if (frame) frames.push(frame);
    }
    return frames;
  }

  /** One byte of kind and codec, one of what follows, three of delay; then the data. */
  #videoFrame(body: Buffer): EncodedFrame | undefined {
    const [first = 0, what] = body;
    if ((first & 15) !== FLV_AVC) return undefined;
    const data = body.subarray(5);
    if (what === 0) {
      this.#parameterSets = parameterSets(data);
      return undefined;
    }
    if (what !== 1 || data.length === 0) return undefined;
    const isKeyframe = first >> 4 === 1;
    const units = withStartCodes(data);
    return { data: isKeyframe ? Buffer.concat([this.#parameterSets, units]) : units, isKeyframe };
  }
}

/** Of an AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1), in Annex B form. */
function parameterSets(record: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 5;
  for (const mask of [31, 255]) {
    const count = (record[at++] ?? 0) & mask;
    for (let n = 0; n < count; n++) {
      const length = record.readUInt16BE(at);
      parts.push(START_CODE, record.subarray(at + 2, at + 2 + length));
      at += 2 + length;
    }
  }
  return Buffer.concat(parts);
}

/** Lengths of four bytes become start codes of four bytes. */
function withStartCodes(units: Buffer): Buffer {
  for (let at = 0; at + 4 <= units.length;) {
    const length = units.readUInt32BE(at);
    START_CODE.copy(units, at);
    at += 4 + length;
  }
  return units;
}
