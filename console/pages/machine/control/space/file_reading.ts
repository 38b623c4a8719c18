import type { FileContent, FileKind } from "./files.ts";

/** A file takes a fraction of a second; that of a stranger may never end. */
const LONGEST_MS = 5_000;

/** Reads files one after the other, in a worker that is terminated when one takes too long. */
export class FileReading {
  #worker: Worker | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /** @returns undefined for a file that cannot be read, or not in five seconds. */
  read(kind: FileKind, file: Uint8Array): Promise<FileContent | undefined> {
    const answer = this.#turn.then(() => this.#isOver ? undefined : this.#ask(kind, file));
    this.#turn = answer;
    return answer;
  }

  close(): void {
    this.#isOver = true;
    this.#end();
  }

  #ask(kind: FileKind, file: Uint8Array): Promise<FileContent | undefined> {
    const worker = this.#worker ??= new Worker(new URL("./files_worker.ts", import.meta.url), {
      type: "module",
    });
    const { promise, resolve } = Promise.withResolvers<FileContent | undefined>();
    const failed = (): void => {
      this.#end();
      resolve(undefined);
    };
    const timer = setTimeout(failed, LONGEST_MS);
    worker.onmessage = ({ data }: MessageEvent<FileContent | undefined>) => resolve(data);
    worker.onerror = failed;
    worker.postMessage({ kind, file });
    return promise.finally(() => clearTimeout(timer));
  }

  #end(): void {
    this.#worker?.terminate();
    this.#worker = undefined;
  }
}
