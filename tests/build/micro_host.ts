/** The C part of machine-micro-server with a script that does what a test asks for. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { Ask } from "../../micro/hosts/testing/probe.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import type { MicroTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { Program } from "../e2e/program.ts";

/** How long anything may take before a test fails; an emulated one under load takes a minute. */
const DEADLINE_MS = 120_000;

/** Builds the probe; gives its path. */
export async function buildProbe(target: MicroTarget, version = "1.0.0"): Promise<string> {
  const { file } = await buildMicro(target, {
    root: ROOT,
    zig: await findZig(ROOT),
    version,
    commit: "0000000",
    entry: "micro/hosts/testing/probe.ts",
    output: join(ROOT, ".tools", "micro", "probes", `${target.name}-${version}`),
  });
  return file;
}

/** How a probe is started. */
export interface ProbeOptions {
  /** Before the program: what runs it, as an emulator does. */
  readonly runner?: readonly string[];
  readonly args?: readonly string[];
}

/** A probe that runs, with a folder of state. */
export class Probe implements AsyncDisposable {
  readonly program: Program;
  #port = 0;

  private constructor(
    readonly folder: string,
    file: string,
    { runner = [], args = [] }: ProbeOptions,
  ) {
    const command = [
      ...[...runner, file],
      ...["-config", join(folder, "machine.json"), "-state", join(folder, "state")],
      ...["-listen", "127.0.0.1:0", ...args],
    ];
    this.program = Program.start({
      name: "probe",
      command: command[0] ?? "",
      args: command.slice(1),
      env: { SSL_CERT_FILE: join(folder, "roots.pem") },
    });
  }

  /** Starts one and waits until it listens. `roots.pem` in the folder is what it trusts. */
  static async start(file: string, folder: string, options: ProbeOptions = {}): Promise<Probe> {
    await Deno.writeTextFile(join(folder, "machine.json"), "{}");
    const probe = new Probe(folder, file, options);
    await probe.listens();
    return probe;
  }

  /** Waits until it listens, at the port of its last start. */
  async listens(count = 1): Promise<void> {
    const ends = AbortSignal.timeout(DEADLINE_MS);
    const seen = () => this.program.lines.filter((line) => line.startsWith("listening at "));
    while (seen().length < count) {
      if (this.program.hasExited || ends.aborted) throw this.program.endedError();
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    this.#port = Number(seen().at(-1)?.split(" ").at(-1));
  }

  /** Asks, and gives what it answered as bytes until the end of the connection. */
  async askBytes(ask: Ask): Promise<Uint8Array> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    await connection.write(new TextEncoder().encode(`${JSON.stringify(ask)}\n`));
    const chunks: Uint8Array[] = [];
    for (;;) {
      const chunk = new Uint8Array(65_536);
      const length = await connection.read(chunk).catch(() => null);
      if (length === null) break;
      chunks.push(chunk.subarray(0, length));
    }
    return new Uint8Array(await new Blob(chunks as BlobPart[]).arrayBuffer());
  }

  /** Asks, and gives the answer. */
  async ask(ask: Ask): Promise<Record<string, unknown>> {
    const text = new TextDecoder().decode(await this.askBytes(ask));
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** Asks for what has no answer. */
  async tell(ask: Ask): Promise<void> {
    using connection = await Deno.connect({ hostname: "127.0.0.1", port: this.#port });
    await connection.write(new TextEncoder().encode(`${JSON.stringify(ask)}\n`));
    await this.program.waitForLine(/failed|hangs/, DEADLINE_MS);
  }

  async kill(): Promise<void> {
    this.program.signal("SIGKILL");
    await this.program.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program.stop(DEADLINE_MS);
  }
}

/** What a client of TLS says first: a record. */
export async function clientHello(): Promise<Uint8Array> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const plain = await Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port });
  using client = await Deno.startTls(plain, { hostname: "localhost" });
  client.handshake().catch(() => undefined);
  using server = await listener.accept();
  const bytes = new Uint8Array(16_384);
  let length = 0;
  const [type, high, low] = [0, 3, 4];
  while (length < 5 || length < 5 + (bytes[high] ?? 0) * 256 + (bytes[low] ?? 0)) {
    length += await server.read(bytes.subarray(length)) ?? NaN;
  }
  assert.equal(bytes[type], 22);
  return bytes.slice(0, length);
}

/** The message of a record in records with so many bytes each. */
export function inPieces(record: Uint8Array, size: number): Uint8Array {
  const pieces: number[] = [];
  for (let at = 5; at < record.length; at += size) {
    const part = record.subarray(at, at + size);
    pieces.push(...record.subarray(0, 3), 0, part.length, ...part);
  }
  return Uint8Array.from(pieces);
}
