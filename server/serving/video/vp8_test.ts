/** VP8 as ffmpeg makes it with the libvpx of this host. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { ignoreWithout, tellSkip } from "../../../shared/test_tools/skips.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { EncodedFrame } from "../../resources/video/encoded_source.ts";
import { startFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import { encodedFrames } from "./frame_encoder.ts";
import { EncoderFinder } from "./ffmpeg.ts";

const [WIDTH, HEIGHT, FRAMES] = [320, 240, 8];

async function ffmpeg(...args: string[]): Promise<Uint8Array> {
  const command = new Deno.Command("ffmpeg", {
    args: ["-hide_banner", "-loglevel", "error", "-nostdin", ...args],
  });
  const { success, stdout, stderr } = await command.output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return stdout;
}

/** The luminance of each pixel of what a file shows. */
function grey(file: string): Promise<Uint8Array> {
  return ffmpeg("-i", file, "-pix_fmt", "gray", "-f", "rawvideo", "-fps_mode", "passthrough", "-");
}

function ivf(frames: readonly EncodedFrame[]): Uint8Array {
  const head = Buffer.alloc(32);
  head.write("DKIF\0\0\x20\0VP80", "latin1");
  head.writeUInt16LE(WIDTH, 12);
  head.writeUInt16LE(HEIGHT, 14);
  head.writeUInt32LE(10, 16);
  head.writeUInt32LE(1, 20);
  const parts = frames.flatMap(({ data }, number) => {
    const header = Buffer.alloc(12);
    header.writeUInt32LE(data.length, 0);
    header.writeUInt32LE(number, 4);
    return [header, data];
  });
  return Buffer.concat([head, ...parts]);
}

Deno.test({
  name: "libvpx encodes a camera's images as VP8 that shows them",
  ignore: ignoreWithout(import.meta.url, "ffmpeg"),
  async fn() {
    const { byCodec, version } = await new EncoderFinder(startFfmpeg, systemClock).find();
    const encoder = byCodec.get("VP8");
    if (!encoder) return tellSkip(import.meta.url, "the ffmpeg here has no libvpx");
    const folder = await Deno.makeTempDir();
    try {
      const source = `testsrc=size=${WIDTH}x${HEIGHT}:rate=10`;
      await ffmpeg("-f", "lavfi", "-i", source, "-frames:v", "30", join(folder, "%d.jpg"));
      let number = 0;
      const getImages = async () => {
        const image = await Deno.readFile(join(folder, `${number++ % 30 + 1}.jpg`));
        return { images: [{ image, mimeType: "image/jpeg" }] };
      };
      const camera = { getImages, getProperties: () => ({ frameRate: 10 }) } as unknown as Resource;
      const stop = new AbortController();
      const frames: EncodedFrame[] = [];
      const video = encodedFrames({
        ...{ camera: () => camera, encoder, version, start: startFfmpeg, size: undefined },
        ...{ clock: systemClock, log: memoryLogger() },
      }, stop.signal);
      for await (const frame of video) if (frames.push(frame) === FRAMES) break;
      stop.abort();
      // A keyframe begins with its start code and its size (RFC 6386, 9.1).
      const [first] = frames;
      assert.ok(first?.isKeyframe);
      assert.deepEqual([...first.data.subarray(3, 10)], [0x9d, 1, 0x2a, 64, 1, 240, 0]);
      assert.ok(frames.some(({ isKeyframe }) => !isKeyframe));
      const file = join(folder, "video.ivf");
      await Deno.writeFile(file, ivf(frames));
      const [shown, taken] = [await grey(file), await grey(join(folder, "1.jpg"))];
      assert.equal(shown.length, FRAMES * WIDTH * HEIGHT);
      const differences = taken.reduce((sum, value, at) => sum + Math.abs(value - shown[at]!), 0);
      assert.ok(differences / taken.length < 16, `${differences / taken.length} of 256`);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
