import { JobChild, JobRefusedError } from "../../../shared/base/process/job_child.ts";
import type { SubprocessCommand } from "../../../shared/base/process/own_program.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  MOST_MODEL_BYTES,
  numbersOver,
  type OutputTensor,
} from "../../../shared/inference/tensors.ts";
import type { InferenceJob, InferResult, LoadResult } from "./inference_process.ts";

/** Loading, or one run, may take this long. Milliseconds. */
const LIMIT_MS = 60_000;

export interface RunningModelOptions {
  /** A `.tflite` file. */
  readonly path: string;
  readonly program: SubprocessCommand;
  readonly clock: Clock;
}

/** The model file cannot be used; the message says what to do. */
class ModelFileError extends Error {
  override readonly name = "ModelFileError";
}

/**
 * A model in a process of its own. When the process ends, the next run starts another; one that
 * keeps ending is started ever more rarely.
 */
export class RunningModel {
  readonly #backoff = new Backoff({ minMs: 500, maxMs: 30_000 });
  #child: JobChild;
  #starting: Promise<unknown> | undefined;
  #notBeforeMs = 0;
  #runs = 0;
  #restarts = 0;
  #problem: string | undefined;

  private constructor(
    private readonly options: RunningModelOptions,
    child: JobChild,
    readonly details: LoadResult,
  ) {
    this.#child = child;
  }

  /** @throws {ModelFileError} when the file is not there or no model. */
  static async start(options: RunningModelOptions): Promise<RunningModel> {
    const { child, details } = await launch(options);
    return new RunningModel(options, child, details);
  }

  /** What GetStatus reports. */
  get state() {
    return {
      model_path: this.options.path,
      running: this.#child.isAlive,
      pid: this.#child.pid,
      runs: this.#runs,
      restarts: this.#restarts,
      ...(this.#problem !== undefined && { problem: this.#problem }),
    };
  }

  /**
   * @param inputs the numbers of each input, in the model's order.
   * @throws {JobRefusedError} when the model cannot take them.
   */
  async run(
    inputs: readonly Uint8Array<ArrayBuffer>[],
    signal?: AbortSignal,
  ): Promise<OutputTensor[]> {
    if (!this.#child.isAlive) await (this.#starting ??= this.#restart());
    try {
      const job: InferenceJob = { kind: "infer" };
      const { head, parts } = await this.#child.call<InferResult>(job, inputs, signal);
      this.#runs++;
      this.#problem = undefined;
      this.#backoff.reset();
      return head.outputs.map(({ name, type, shape }, index) => ({
        ...{ name, type, shape, values: numbersOver(type, parts[index] ?? new Uint8Array()) },
      }));
    } catch (error) {
      if (!this.#child.isAlive) this.#problem = (error as Error).message;
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.#starting?.catch(() => undefined);
    await this.#child.close();
  }

  async #restart(): Promise<void> {
    try {
      const { clock } = this.options;
      const waitMs = this.#notBeforeMs - clock.monotonicMs();
      if (waitMs > 0) {
        throw new Error(
          `${this.#problem ?? "the process that runs the model ended"}; it is started again in ` +
            `${Math.ceil(waitMs / 1_000)} s`,
        );
      }
      this.#notBeforeMs = clock.monotonicMs() + this.#backoff.next();
      this.#restarts++;
      this.#child = (await launch(this.options)).child;
    } finally {
      this.#starting = undefined;
    }
  }
}

async function launch({ path, program, clock }: RunningModelOptions) {
  const bytes = await readModel(path);
  const child = new JobChild({
    ...{ program, clock, limitMs: LIMIT_MS, what: "the process that runs the model" },
  });
  try {
    const job: InferenceJob = { kind: "load" };
    const { head: details } = await child.call<LoadResult>(job, [bytes]);
    return { child, details };
  } catch (error) {
    await child.close();
    if (!(error instanceof JobRefusedError)) throw error;
    throw new ModelFileError(`${path}: ${error.message}; export the model again as .tflite`);
  }
}

async function readModel(path: string): Promise<Uint8Array<ArrayBuffer>> {
  let bytes: Uint8Array<ArrayBuffer>;
  try {
    const { size, isFile } = await Deno.stat(path);
    if (!isFile) throw new ModelFileError(`${path} is no file; name the .tflite file in it`);
    if (size > MOST_MODEL_BYTES) {
      throw new ModelFileError(`${path} has ${size} bytes; at most ${MOST_MODEL_BYTES} are loaded`);
    }
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    throw new ModelFileError(
      `${path} is not there; name a .tflite file, for example ` +
        "${packages.ml_model.NAME}/NAME.tflite of a model package",
    );
  }
  // A file of TensorFlow Lite has its mark behind the offset of its root (schema.fbs).
  if (new TextDecoder().decode(bytes.subarray(4, 8)) === "TFL3") return bytes;
  throw new ModelFileError(
    `${path} is no model of TensorFlow Lite${whatItIs(bytes)}; this server runs .tflite files, ` +
      "into which training of the cloud, TensorFlow and others export",
  );
}

/** What people put there by mistake. */
function whatItIs(bytes: Uint8Array): string {
  if (bytes.length === 0) return ": it is empty";
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 256));
  if (start.startsWith("\x1f\x8b")) return ": it is a packed archive; name the file inside";
  if (start.startsWith("PK")) return ": it is a zip file, as PyTorch and Keras write";
  if (start.startsWith("\x89HDF")) return ": it is a Keras file (.h5)";
  if (start.startsWith("version https://git-lfs")) {
    return ": it is a pointer of Git LFS in place of the file";
  }
  // Of ONNX, the first field is its version, and the second often names the program.
  if (start.startsWith("\x08") || start.includes("onnx") || start.includes("pytorch")) {
    return ": it looks like ONNX";
  }
  return "";
}
