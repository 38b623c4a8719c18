/** Spans in files: one OTLP message in JSON a line, as collectors read them from files. */
import { join } from "node:path";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { fsErrorCode, toFileError } from "../../../shared/files/fs_error.ts";

/** `traces.jsonl` is written; `traces.1.jsonl` to `traces.5.jsonl` are older. */
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
    if (!json) return;
    const path = this.#path(0);
    try {
      if (await this.#isFull(path)) await this.#rotate();
      using file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
      const line = new Uint8Array(json.length + 1);
      line.set(json);
      line[json.length] = 0x0a;
      for (let at = 0; at < line.length;) at += await file.write(line.subarray(at));
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

  async #rotate(): Promise<void> {
    for (let age = OLD_FILES; age > 0; age--) {
      try {
        await Deno.rename(this.#path(age - 1), this.#path(age));
      } catch (error) {
        if (fsErrorCode(error) !== "ENOENT") throw error;
      }
    }
  }

  #path(age: number): string {
    return join(this.folder, age === 0 ? "traces.jsonl" : `traces.${age}.jsonl`);
  }
}
