/**
 * Sends spans by OTLP over gRPC. Not by the published exporter: it looks for its own copy of the
 * gRPC library in `node_modules` while it runs, where a bundled program has none.
 */
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { ProtobufTraceSerializer } from "@opentelemetry/otlp-transformer";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import { GrpcChannel } from "../../../shared/rpc/client/grpc_channel.ts";

const EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export";

export class GrpcExporter implements SpanExporter {
  readonly #channel: GrpcChannel;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  /**
   * @param url `http://host:port` for plaintext, `https://host:port` for TLS.
   * @param timeoutMs of one batch.
   */
  constructor(url: string, private readonly timeoutMs: number) {
    this.#channel = new GrpcChannel({ baseUrl: url });
  }

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    const sending = this.#send(spans).then(
      () => done({ code: ExportResultCode.SUCCESS }),
      (error) => done({ code: ExportResultCode.FAILED, error }),
    ).finally(() => this.#running.delete(sending));
    this.#running.add(sending);
  }

  async forceFlush(): Promise<void> {
    await Promise.all(this.#running);
  }

  async shutdown(): Promise<void> {
    await this.forceFlush();
    this.#stop.abort(new Error("the exporter is shut down"));
    this.#channel.close();
  }

  async #send(spans: ReadableSpan[]): Promise<void> {
    const request = ProtobufTraceSerializer.serializeRequest(spans);
    if (!request) return;
    await this.#channel.call({
      path: EXPORT,
      metadata: { toHttp2Headers: () => ({}) },
      signal: this.#stop.signal,
      timeoutMs: this.timeoutMs,
    }, request);
  }
}
