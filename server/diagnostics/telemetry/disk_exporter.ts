/**
 * Spans in files, in two forms: `traces.jsonl` with an OTLP message in JSON a line, as collectors
 * read them from files, and `traces` with messages ResourceSpans in protobuf, each behind its length
 * in four bytes, lowest first, as command lines of the public API fetch them.
 */
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer, ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { fsErrorCode, toFileError } from "../../../shared/base/files/fs_error.ts";

/** `traces.jsonl` is written; `traces.1.jsonl` to `traces.5.jsonl` are older; so with `traces`. */
const OLD_FILES = 5;
const FILE_BYTES = 10_000_000;

export class DiskExporter implements SpanExporter {
  #work: Promise<void> = Promise.resolve();

  private constructor(private readonly folder: string, private readonly fileBytes: number) {}

  /** @throws {FileError} when the folder cannot be made. */
  static async open(folder: string, fileBytes = FILE_BYTES): Promise<DiskExporter> {
    try {
      await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      throw toFileError(error, "make the folder", folder);
    }
    return new DiskExporter(folder, fileBytes);
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.#work = this.#work.then(() => this.#append(spans)).then(
      () => done({ code: ExportResultCode.SUCCESS }),
      (error) => done({ code: ExportResultCode.FAILED, error }),
    );
  }

  async shutdown(): Promise<void> {
    await this.#work;
  }

  async forceFlush(): Promise<void> {
    await this.#work;
  }

  async #append(spans: ReadableSpan[]): Promise<void> {
    const json = JsonTraceSerializer.serializeRequest(spans);
    if (json) await this.#write(".jsonl", Buffer.concat([json, Buffer.from("\n")]));
    const binary = ProtobufTraceSerializer.serializeRequest(spans);
    if (binary) await this.#write("", Buffer.concat(resourceSpans(binary).flatMap(delimited)));
  }

  async #write(extension: string, bytes: Uint8Array): Promise<void> {
    const path = this.#path(extension, 0);
    try {
      if (await this.#isFull(path)) await this.#rotate(extension);
      using file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
      for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
    } catch (error) {
      throw toFileError(error, "write", path);
    }
  }

  async #isFull(path: string): Promise<boolean> {
    try {
      return (await Deno.stat(path)).size >= this.fileBytes;
    } catch (error) {
      if (fsErrorCode(error) === "ENOENT") return false;
      throw error;
    }
  }

  async #rotate(extension: string): Promise<void> {
    for (let age = OLD_FILES; age > 0; age--) {
      try {
        await Deno.rename(this.#path(extension, age - 1), this.#path(extension, age));
      } catch (error) {
        if (fsErrorCode(error) !== "ENOENT") throw error;
      }
    }
  }

  #path(extension: string, age: number): string {
    return join(this.folder, `traces${age === 0 ? "" : `.${age}`}${extension}`);
  }
}

/** The messages in field 1 of an ExportTraceServiceRequest. */
function resourceSpans(request: Uint8Array): Uint8Array[] {
  const reader = new BinaryReader(request);
  const found: Uint8Array[] = [];
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 1) found.push(reader.bytes());
    else reader.skip(type);
  }
  return found;
}

function delimited(message: Uint8Array): Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(message.length);
  return [length, message];
}
