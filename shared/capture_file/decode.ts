/** Reads capture files, also those whose end was torn off. */
import { fromBinary } from "@bufbuild/protobuf";
import {
  type DataCaptureMetadata,
  DataCaptureMetadataSchema,
  type SensorData,
  SensorDataSchema,
} from "../gen/viam/app/datasync/v1/data_sync_pb.ts";

/** What a capture file holds. */
export interface CaptureContents {
  /** Undefined when not even the beginning is whole. */
  readonly metadata: DataCaptureMetadata | undefined;
  readonly readings: readonly SensorData[];
  /** How many bytes from the beginning are whole messages. */
  readonly wholeBytes: number;
  /** Bytes follow that are no whole message: the writer was cut off in the middle of one. */
  readonly isTorn: boolean;
}

/**
 * Reads messages up to the first that is not whole, cannot be decoded, or is empty: after a power
 * cut a file may end in zeros. Never throws.
 */
export function decodeCapture(bytes: Uint8Array): CaptureContents {
  let metadata: DataCaptureMetadata | undefined;
  const readings: SensorData[] = [];
  let at = 0;
  for (;;) {
    const frame = frameAt(bytes, at);
    if (!frame) break;
    const message = bytes.subarray(frame.begin, frame.end);
    try {
      if (metadata) readings.push(fromBinary(SensorDataSchema, message));
      else metadata = fromBinary(DataCaptureMetadataSchema, message);
    } catch {
      break; // what follows cannot be determined from it; the caller sees that the file is torn
    }
    at = frame.end;
  }
  return { metadata, readings, wholeBytes: at, isTorn: at < bytes.length };
}

/** Where a message lies; undefined when it is not whole. */
function frameAt(bytes: Uint8Array, at: number): { begin: number; end: number } | undefined {
  let length = 0;
  let scale = 1;
  for (let begin = at; begin < bytes.length && scale <= 2 ** 28; begin++, scale *= 0x80) {
    const byte = bytes[begin]!;
    length += (byte & 0x7f) * scale;
    if (byte >= 0x80) continue;
    const end = begin + 1 + length;
    return length > 0 && end <= bytes.length ? { begin: begin + 1, end } : undefined;
  }
  return undefined;
}
