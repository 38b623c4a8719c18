/** For tests: runs the container of a pod as a process of this host. */
import assert from "node:assert/strict";
import { join } from "node:path";

/** A container of a pod, as far as it is needed to run it. */
export interface ContainerSpec {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly workingDir: string;
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: { readonly name: string; readonly key: string } };
  }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

export interface LogLine {
  readonly time: string;
  readonly ms: number;
  readonly text: string;
}

/** How a stream breaks. */
export const CUT = "cut";

/** What a container printed, and those who follow it. */
class ContainerLog {
  readonly lines: LogLine[] = [];
  readonly #readers = new Set<ReadableStreamDefaultController<Uint8Array>>();
  #nanoseconds = 0;
  isOver = false;

  /** Lines of one piece get one time, as several may of a real container. */
  add(texts: readonly string[]): void {
    if (texts.length === 0) return;
    const now = new Date();
    const nanoseconds = String(this.#nanoseconds++ % 1_000_000).padStart(6, "0");
    // As on a node that is east of here.
    const local = new Date(now.getTime() + 7_200_000).toISOString().slice(0, -1);
    for (const text of texts) {
      const line = { time: `${local}${nanoseconds}+02:00`, ms: now.getTime(), text };
      this.lines.push(line);
      for (const reader of this.#readers) reader.enqueue(encoded(line));
    }
  }

  read(sinceMs: number, isFollowed: boolean): ReadableStream<Uint8Array> {
    const from = Math.floor(sinceMs / 1_000) * 1_000;
    let mine: ReadableStreamDefaultController<Uint8Array> | undefined;
    return new ReadableStream({
      start: (controller) => {
        for (const line of this.lines) if (line.ms >= from) controller.enqueue(encoded(line));
        if (!isFollowed || this.isOver) return controller.close();
        this.#readers.add(mine = controller);
      },
      cancel: () => void (mine && this.#readers.delete(mine)),
    });
  }

  /** Half a line, and then nothing more: as a connection that breaks. */
  cut(): void {
    for (const reader of this.#readers) {
      reader.enqueue(new TextEncoder().encode("2026-01-01T00:0"));
      reader.error(new Error(CUT));
    }
    this.#readers.clear();
  }

  end(): void {
    this.isOver = true;
    for (const reader of this.#readers) reader.close();
    this.#readers.clear();
  }
}

function encoded({ time, text }: LogLine): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${time} ${text}\n`);
}

/** A container that runs. */
export class FakeContainer {
  readonly log = new ContainerLog();
  readonly exited: Promise<number>;
  readonly #process: Deno.ChildProcess;

  /**
   * @param folder takes the place of `/tmp`, and is removed at the end
   * @param more variables of this host, such as where pip keeps what it downloaded
   */
  constructor(
    { command, env, workingDir, volumeMounts }: ContainerSpec,
    secret: (name: string) => Readonly<Record<string, string>>,
    private readonly folder: string,
    more: Readonly<Record<string, string>>,
  ) {
    assert.ok(volumeMounts.some(({ mountPath }) => mountPath === workingDir), workingDir);
    const values = env.map(({ name, value, valueFrom }) => {
      if (!valueFrom) return [name, value === "/tmp" ? folder : value ?? ""] as const;
      const { name: from, key } = valueFrom.secretKeyRef;
      const kept = secret(from)[key];
      assert.ok(kept !== undefined, `${key} is not in the secret ${from}`);
      return [name, kept] as const;
    });
    this.#process = new Deno.Command("setsid", {
      args: [...command],
      cwd: folder,
      clearEnv: true,
      env: { PATH: Deno.env.get("PATH") ?? "", ...more, ...Object.fromEntries(values) },
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const read = [this.#process.stdout, this.#process.stderr].map((stream) => this.#read(stream));
    this.exited = this.#process.status.then(async ({ code }) => {
      // What the first process of a container started ends with it.
      this.kill("SIGKILL");
      await Promise.all(read);
      this.log.end();
      await Deno.remove(this.folder, { recursive: true });
      return code;
    });
  }

  kill(signal: Deno.Signal): void {
    try {
      Deno.kill(signal === "SIGKILL" ? -this.#process.pid : this.#process.pid, signal);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound || error instanceof TypeError)) throw error;
    }
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const piece of stream) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      this.log.add(lines);
    }
    if (rest !== "") this.log.add([rest]);
  }
}

export async function containerFolder(parent: string): Promise<string> {
  const folder = await Deno.makeTempDir({ dir: parent, prefix: "pod-" });
  assert.ok(join(folder, "x").length < 100);
  return folder;
}
