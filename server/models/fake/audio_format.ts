/** Sound as the fakes know it: uncompressed. */
import { Code, ConnectError } from "@connectrpc/connect";

/** One sample from -1 to 1 in the bytes of a codec, little endian. */
interface Codec {
  readonly bytes: number;
  write(view: DataView, offset: number, sample: number): void;
}

const CODECS: { readonly [name: string]: Codec } = {
  pcm16: {
    bytes: 2,
    write: (view, offset, sample) => view.setInt16(offset, Math.round(sample * 0x7fff), true),
  },
  pcm32: {
    bytes: 4,
    write: (view, offset, sample) => view.setInt32(offset, Math.round(sample * 0x7fffffff), true),
  },
  pcm32_float: {
    bytes: 4,
    write: (view, offset, sample) => view.setFloat32(offset, sample, true),
  },
};

/** Names of the codecs. */
export const AUDIO_CODECS: readonly string[] = Object.keys(CODECS);

/** The codec that is used when a caller names none. */
const DEFAULT_CODEC = "pcm16";

export const SAMPLE_RATE_HZ = 44_100;
export const CHANNELS = 1;

/** The name of a codec the fakes know. @throws {ConnectError} INVALID_ARGUMENT for others. */
export function checkedCodec(name: string): string {
  if (name === "") return DEFAULT_CODEC;
  if (name in CODECS) return name;
  throw new ConnectError(
    `codec ${name} is not known; use one of ${AUDIO_CODECS.join(", ")}`,
    Code.InvalidArgument,
  );
}

/** Samples `first` to `first + count` of a sine wave. @param codec one of {@link AUDIO_CODECS} */
export function sineWave(codec: string, hertz: number, first: number, count: number): Uint8Array {
  const { bytes, write } = CODECS[codec]!;
  const view = new DataView(new ArrayBuffer(count * bytes));
  for (let n = 0; n < count; n++) {
    const phase = 2 * Math.PI * hertz * (first + n) / SAMPLE_RATE_HZ;
    write(view, n * bytes, Math.sin(phase) / 2);
  }
  return new Uint8Array(view.buffer);
}
