/** A file whose calls may take seconds, on a thread of its own. */
import { KernelError, type SlowFile } from "./kernel.ts";

/** From the thread: of opening or of a call, in the order of the requests. */
interface Answer {
  readonly call: "open" | "ioctl";
  readonly result: number;
  readonly errno: number;
  readonly argument: Uint8Array<ArrayBuffer>;
}

interface Call {
  readonly request: number;
  readonly argument: Uint8Array<ArrayBuffer>;
}

/** What the thread does; it travels there as text and uses nothing from outside itself. */
function threadFile(name: Uint8Array<ArrayBuffer>, flags: number) {
  const library = Deno.dlopen("libc.so.6", {
    open: { parameters: ["buffer", "i32"], result: "i32" },
    close: { parameters: ["i32"], result: "i32" },
    ioctl: { parameters: ["i32", "usize", "buffer"], result: "i32" },
    __errno_location: { parameters: [], result: "pointer" },
  });
  const errno = new Deno.UnsafePointerView(library.symbols.__errno_location()!);
  const fd = library.symbols.open(name, flags);
  const notOpened = fd < 0 ? errno.getInt32() : 0;
  return {
    ioctl({ request, argument }: Call): Answer {
      if (fd < 0) return { call: "open", result: fd, errno: notOpened, argument };
      const result = library.symbols.ioctl(fd, BigInt(request), argument);
      return { call: "ioctl", result, errno: result < 0 ? errno.getInt32() : 0, argument };
    },
    close(): void {
      if (fd >= 0) library.symbols.close(fd);
      library.close();
    },
  };
}

/** See above. */
export class ThreadFile implements SlowFile {
  readonly #worker: Worker;
  /** Requests that have no answer yet, the oldest first. */
  readonly #waiting: PromiseWithResolvers<Answer>[] = [];
  readonly #closed = Promise.withResolvers<void>();
  /** Why it takes no more calls. */
  #ended: Error | undefined;

  constructor(private readonly path: string, flags: number) {
    const source = `const threadFile = ${threadFile};
let file;
self.onmessage = ({ data }) => {
  if (!file) return file = threadFile(data.name, data.flags);
  if (data) return self.postMessage(file.ioctl(data));
  file.close();
  self.postMessage(null);
};`;
    const url = `data:application/javascript,${encodeURIComponent(source)}`;
    this.#worker = new Worker(url, { type: "module", name: path });
    this.#worker.onmessage = ({ data }: MessageEvent<Answer | null>) => {
      if (data === null) this.#end(new Error(`${path} was closed`));
      else this.#waiting.shift()?.resolve(data);
    };
    this.#worker.onerror = (event) => {
      event.preventDefault();
      this.#ended = new Error(`the thread for ${path} failed: ${event.message}`);
      this.#end(this.#ended);
    };
    const name = new TextEncoder().encode(`${path}\0`);
    this.#worker.postMessage({ name, flags });
  }

  async ioctl(request: number, argument: Uint8Array<ArrayBuffer>): Promise<number> {
    if (this.#ended) throw this.#ended;
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.push(waiting);
    const asked: Call = { request, argument };
    this.#worker.postMessage(asked);
    const { call, result, errno, argument: written } = await waiting.promise;
    if (result < 0) {
      const what = call === "open" ? `open ${this.path}` : `ioctl ${request.toString(16)}`;
      throw new KernelError(what, errno);
    }
    argument.set(written);
    return result;
  }

  close(): Promise<void> {
    if (!this.#ended) this.#worker.postMessage(null);
    this.#ended ??= new Error(`${this.path} was closed`);
    return this.#closed.promise;
  }

  #end(error: Error): void {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.splice(0)) reject(error);
    this.#closed.resolve();
  }
}
