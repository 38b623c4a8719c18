/** Which of ffmpeg's encoders work on this host. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { VideoCodec } from "../../resources/video/encoded_source.ts";
import type { FfmpegRun, StartFfmpeg } from "../../resources/video/ffmpeg_program.ts";
import { type Encoder, ENCODERS, trial } from "./encoders.ts";

/** How long a trial may take. Milliseconds. */
const TRIAL_MS = 8_000;
/** Where nothing was found, this long is not looked again. Milliseconds. */
const LOOK_AGAIN_MS = 10_000;

/** The encoders of a host: the best that works for each codec. */
export interface Encoders {
  readonly version: string;
  readonly byCodec: ReadonlyMap<VideoCodec, Encoder>;
}

/** Finds the encoders when the first video is wanted. */
export class EncoderFinder {
  #found: Promise<Encoders> | undefined;

  constructor(
    private readonly start: StartFfmpeg,
    private readonly clock: Clock,
    private readonly hasHardware: (hardware: string) => Promise<boolean> = isHere,
  ) {}

  /** @throws {ConnectError} FAILED_PRECONDITION with what to install. */
  find(): Promise<Encoders> {
    return this.#found ??= this.#look().catch((error) => {
      this.clock.setTimer(LOOK_AGAIN_MS, () => this.#found = undefined);
      throw error;
    });
  }

  /** What is compiled in works, unless it is hardware's: that is tried where there is some. */
  async #look(): Promise<Encoders> {
    const { version, names } = await this.#installed();
    const byCodec = new Map<VideoCodec, Encoder>();
    for (const encoder of ENCODERS) {
      if (byCodec.has(encoder.codec) || !names.has(encoder.name)) continue;
      if (encoder.hardware !== undefined) {
        if (!await this.hasHardware(encoder.hardware) || !await this.#works(encoder)) continue;
      }
      byCodec.set(encoder.codec, encoder);
    }
    if (byCodec.size > 0) return { version, byCodec };
    throw missing(
      `ffmpeg ${version} is installed, but it has no encoder that works here ` +
        `(${ENCODERS.map(({ name }) => name).join(", ")})`,
    );
  }

  async #installed(): Promise<{ version: string; names: ReadonlySet<string> }> {
    let text: string;
    try {
      const run = this.start(["-encoders"]);
      text = (await this.#output(run)).text + (await run.ended).said;
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw missing("ffmpeg is not installed on the machine's host");
    }
    return {
      version: /^ffmpeg version (\S+)/m.exec(text)?.[1] ?? "of an unknown version",
      names: new Set([...text.matchAll(/^ *V\S{5} (\S+)/gm)].map(([, name]) => name ?? "")),
    };
  }

  async #works(encoder: Encoder): Promise<boolean> {
    const { isOk, text } = await this.#output(this.start(trial(encoder)));
    return isOk && text.length > 0;
  }

  /** What a run writes, and whether it ended well. */
  async #output(run: FfmpegRun): Promise<{ isOk: boolean; text: string }> {
    const timer = this.clock.setTimer(TRIAL_MS, () => run.kill());
    let text = "";
    const decoder = new TextDecoder("latin1");
    for await (const bytes of run.output) text += decoder.decode(bytes);
    timer.cancel();
    return { isOk: (await run.ended).ok, text };
  }
}

/** Whether a device of that path, or a system of that name, is this host's. */
async function isHere(hardware: string): Promise<boolean> {
  if (!hardware.startsWith("/")) return Deno.build.os === hardware;
  return await Deno.stat(hardware).then(() => true, () => false);
}

function missing(reason: string): ConnectError {
  return new ConnectError(
    `there is no video of this camera: ${reason}. Install ffmpeg with libx264 or libvpx ` +
      "(Debian, Ubuntu, Raspberry Pi OS: apt install ffmpeg; macOS: brew install ffmpeg; Windows: " +
      "winget install ffmpeg); until then request its images with GetImages",
    Code.FailedPrecondition,
  );
}
