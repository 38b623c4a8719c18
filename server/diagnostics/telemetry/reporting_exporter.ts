/** Reports when spans cannot be exported, and when they can be again. */
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "../../../shared/log/logger.ts";

/** The libraries notify a process-wide handler of each batch; this logs one line a change. */
export class ReportingExporter implements SpanExporter {
  #failing = false;

  constructor(
    private readonly what: string,
    private readonly exporter: SpanExporter,
    private readonly log: Logger,
  ) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans, (result) => {
      const failed = result.code !== ExportResultCode.SUCCESS;
      if (failed && !this.#failing) {
        this.log.warn(`spans are lost: ${this.what} does not take them`, {
          event: "tracing_failed",
          reason: result.error?.message ?? "no reason given",
        });
      } else if (!failed && this.#failing) this.log.info(`${this.what} takes spans again`);
      this.#failing = failed;
      done({ code: ExportResultCode.SUCCESS });
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  async forceFlush(): Promise<void> {
    await this.exporter.forceFlush?.();
  }
}
