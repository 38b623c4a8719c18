import { Code, ConnectError } from "@connectrpc/connect";
import { writeAll } from "../../shared/base/files/write_all.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { BlobReader } from "../storage/blobs/blob_store.ts";
import { residentBytes } from "../storage/subprocess/resident_bytes.ts";
import {
  type SubprocessCommand,
  subprocessCommand,
} from "../storage/subprocess/subprocess_command.ts";
import { Turns } from "../storage/subprocess/turns.ts";
import {
  INFERENCE_PROCESS,
  type InferenceAnswer,
  type InferenceRequest,
  MOST_ANSWER_BYTES,
} from "./inference_form.ts";

export interface InferenceRunnerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** How the process is started; left out: this program. */
  readonly program?: SubprocessCommand;
  /** How long a run may take, its start included; left out: 60 s. */
  readonly limitMs?: number;
  /** Most memory of a process, bytes; left out: 1.5 GiB. Only where the system reports it. */
  readonly limitBytes?: number;
}

/** What is run: streams with their lengths. */
export interface InferenceInput {
  readonly orgId: string;
  readonly package: { readonly reader: BlobReader; readonly size: number };
  readonly image: { readonly reader: BlobReader; readonly size: number };
}

/** Each takes a processor and much memory. */
const TURNS = { mostRunning: 1, mostRunningOfOne: 1, mostWaiting: 64, mostWaitingOfOne: 16 };
const LIMIT_MS = 60_000;
const LIMIT_BYTES = 1.5 * 1024 ** 3;
const MEMORY_EVERY_MS = 50;

/** Runs models, each in a process of its own that ends with it; organisations take turns. */
export class InferenceRunner {
  readonly #turns = new Turns(TURNS, "models");

  constructor(private readonly options: InferenceRunnerOptions) {}

  /**
   * @throws {ConnectError} INVALID_ARGUMENT when model or image cannot be used,
   * RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, or UNAVAILABLE.
   */
  async run(input: InferenceInput, signal: AbortSignal): Promise<
    InferenceAnswer & {
      readonly kind: "outputs";
    }
  > {
    const end = await this.#turns.take(input.orgId, signal);
    try {
      const answer = await this.#runNow(input, signal);
      if (answer.kind === "outputs") return answer;
      throw new ConnectError(answer.message, Code.InvalidArgument);
    } finally {
      end();
    }
  }

  async #runNow(input: InferenceInput, signal: AbortSignal): Promise<InferenceAnswer> {
    const { clock, log, limitMs = LIMIT_MS, limitBytes = LIMIT_BYTES } = this.options;
    const child = start(this.options.program ?? subprocessCommand(INFERENCE_PROCESS));
    let broken: ConnectError | undefined;
    const stop = (message: string, code: Code) => {
      broken ??= new ConnectError(message, code);
      kill(child);
    };
    const deadline = clock.setTimer(limitMs, () => {
      stop(`the model took longer than ${limitMs / 1_000} s and was killed`, Code.DeadlineExceeded);
    });
    const memory = setInterval(() => {
      if (residentBytes(child.pid) <= limitBytes) return;
      stop("the model needed too much memory and was killed", Code.ResourceExhausted);
    }, MEMORY_EVERY_MS);
    const leave = () => stop("the caller left", Code.Canceled);
    signal.addEventListener("abort", leave, { once: true });
    try {
      const [line] = await Promise.all([firstLine(child), send(child, input)]);
      return JSON.parse(line) as InferenceAnswer;
    } catch (error) {
      kill(child);
      if (broken) throw broken;
      log.warn("a model could not be run", { event: "inference_failed", error: String(error) });
      throw new ConnectError("the process that runs models failed", Code.Unavailable);
    } finally {
      signal.removeEventListener("abort", leave);
      deadline.cancel();
      clearInterval(memory);
      kill(child);
      await child.status;
    }
  }
}

function start({ command, args }: SubprocessCommand): Deno.ChildProcess {
  // A limit of the system ends a model of a cloud that was killed: nobody else would.
  const [program, programArgs] = Deno.build.os === "windows"
    ? [command, [...args]]
    : ["/bin/sh", ["-c", 'ulimit -t 120 && exec "$0" "$@"', command, ...args]];
  return new Deno.Command(program, {
    args: programArgs,
    stdin: "piped",
    stdout: "piped",
    stderr: "null",
  }).spawn();
}

async function send(child: Deno.ChildProcess, input: InferenceInput): Promise<void> {
  const { package: packed, image } = input;
  const head: InferenceRequest = { packageBytes: packed.size, imageBytes: image.size };
  const writer = child.stdin.getWriter();
  const sink = { write: async (bytes: Uint8Array) => (await writer.write(bytes), bytes.length) };
  try {
    await writeAll(sink, new TextEncoder().encode(`${JSON.stringify(head)}\n`));
    for (const { reader } of [packed, image]) {
      for await (const piece of reader.readable) await writer.write(piece);
    }
  } finally {
    await writer.close().catch(() => undefined); // The process has ended; its answer says why.
  }
}

async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of child.stdout) {
    size += piece.length;
    if (size > MOST_ANSWER_BYTES + 1_024) throw new Error("its answer is too long");
    pieces.push(piece);
  }
  const text = await new Blob(pieces as BlobPart[]).text();
  if (!text.endsWith("\n")) throw new Error("it gave no answer");
  return text;
}

function kill(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch {
    // It has ended on its own.
  }
}
