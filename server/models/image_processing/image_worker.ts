import { JobChild, type JobChildOptions } from "../../../shared/base/process/job_child.ts";
import type { Frame } from "../../../shared/base/process/frames.ts";
import type { ImageNumbers } from "../../../shared/inference/image_tensor.ts";
import type { ColourSought } from "./colour_areas.ts";
import type { ColoursResult, ImageJob, SegmentsResult, TensorResult } from "./image_jobs.ts";
import type { ImageStep } from "./image_steps.ts";
import type { RoomScene } from "./room_drawing.ts";
import type { Box, Lens } from "./segments.ts";

/** One image takes at most this. Milliseconds. */
const LIMIT_MS = 30_000;
/** After this without work the process ends. Milliseconds. */
const IDLE_MS = 60_000;

/** Work on images, in a process of its own that starts with the first and ends after a while. */
export class ImageWorker {
  #child: JobChild | undefined;
  #running = 0;
  #idle: { cancel(): void } | undefined;

  constructor(private readonly options: Pick<JobChildOptions, "program" | "clock">) {}

  /**
   * The image as numbers for a model.
   *
   * @throws {JobRefusedError} when the bytes are no image, or the model takes none.
   */
  async tensor(
    image: Uint8Array,
    input: { readonly shape: readonly number[]; readonly type: string },
    numbers: ImageNumbers,
    signal?: AbortSignal,
  ): Promise<TensorResult & { readonly bytes: Uint8Array<ArrayBuffer> }> {
    const { shape, type } = input;
    const job: ImageJob = { kind: "tensor", shape, type, numbers };
    const { head, parts: [bytes = new Uint8Array()] } = await this.#run<TensorResult>(
      ...[job, image, signal] as const,
    );
    return { ...head, bytes };
  }

  /** Areas of a colour. @throws {JobRefusedError} */
  async colours(image: Uint8Array, sought: ColourSought, signal?: AbortSignal) {
    return (await this.#run<ColoursResult>({ kind: "colours", sought }, image, signal)).head;
  }

  /** The points of a cloud inside boxes of an image. @throws {JobRefusedError} */
  async segments(
    cloud: Uint8Array,
    lens: Lens,
    boxes: readonly Box[],
    deviations: number,
    signal?: AbortSignal,
  ) {
    const job: ImageJob = { kind: "segments", lens, boxes, deviations };
    const { head, parts } = await this.#run<SegmentsResult>(job, cloud, signal);
    const clouds = parts.values();
    return head.bounds.map((bounds) => bounds && { bounds, cloud: clouds.next().value! });
  }

  /**
   * The image after the steps, as JPEG.
   *
   * @param images the image, an image of depth where the first step colours it, or both.
   * @throws {JobRefusedError} when a step does not fit the image.
   */
  async changed(
    images: readonly Uint8Array[],
    steps: readonly ImageStep[],
    signal?: AbortSignal,
  ): Promise<Uint8Array> {
    const { parts: [jpeg] } = await this.#run({ kind: "steps", steps }, images, signal);
    return jpeg!;
  }

  /** A room as JPEG. */
  async room(scene: RoomScene, signal?: AbortSignal): Promise<Uint8Array> {
    const { parts: [jpeg] } = await this.#run({ kind: "room", scene }, new Uint8Array(), signal);
    return jpeg!;
  }

  async #run<T extends object>(
    job: ImageJob,
    given: Uint8Array | readonly Uint8Array[],
    signal: AbortSignal | undefined,
  ): Promise<Frame<T>> {
    const parts = [given].flat() as Uint8Array<ArrayBuffer>[];
    this.#idle?.cancel();
    this.#running++;
    try {
      if (!this.#child?.isAlive) {
        this.#child = new JobChild({
          ...this.options,
          what: "the process that works on images",
          limitMs: LIMIT_MS,
        });
      }
      return await this.#child.call<T>(job, parts, signal);
    } finally {
      if (--this.#running === 0) {
        this.#idle = this.options.clock.setTimer(IDLE_MS, () => void this.close());
      }
    }
  }

  /** Ends the process; the next work starts another. */
  async close(): Promise<void> {
    this.#idle?.cancel();
    await this.#child?.close();
  }
}
