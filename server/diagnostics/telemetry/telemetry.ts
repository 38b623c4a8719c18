/** Traces and metrics of calls, following `-output-telemetry` and the block `tracing`. */
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { TracingConfig } from "../../../shared/config/operation.ts";
import type { ResourceSpans } from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import { RobotService } from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { passedOnKey } from "../../../shared/rpc/client/forward.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Pipeline, PipelineSettings } from "./pipeline.ts";
import type { TelemetryOptions } from "./telemetry_options.ts";

/** What modules say of their own work; a span of each would be one more to say. */
const UNTRACED: ReadonlySet<string> = new Set(
  ["Log", "SendTraces"].map((method) => `/${RobotService.typeName}/${method}`),
);

/**
 * Costs nothing while nobody requests telemetry: the libraries are loaded by the first `apply` that
 * needs them.
 */
export class Telemetry {
  #pipeline: Pipeline | undefined;
  #settings: PipelineSettings | undefined;
  #work: Promise<void> = Promise.resolve();

  readonly interceptor: Interceptor = {
    before: (call) => {
      if (UNTRACED.has(call.path)) return;
      const headers = this.#pipeline?.begin(call);
      if (headers) call.values.set(passedOnKey, { ...headers });
    },
    after: (call, outcome) => this.#pipeline?.end(call, outcome),
  };

  constructor(private readonly options: TelemetryOptions) {}

  /** Follows the configuration; settings that did not change leave running exporters alone. */
  apply(tracing: TracingConfig | undefined): Promise<void> {
    const settings = settingsOf(this.options, tracing);
    return this.#next(async () => {
      if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
      this.#settings = settings;
      const before = this.#pipeline;
      this.#pipeline = settings && await this.#start(settings);
      await before?.close();
    });
  }

  /**
   * Takes the spans of a module to where ours go; nowhere when calls are not traced.
   *
   * @param module "" when the caller is not known.
   * @throws {ConnectError} INVALID_ARGUMENT; then none of them is taken.
   */
  take(sent: readonly ResourceSpans[], module: string): void {
    this.#pipeline?.take(sent, module);
  }

  /** Sends and writes what is left; takes a few seconds at most. */
  close(): Promise<void> {
    return this.#next(async () => {
      const before = this.#pipeline;
      this.#pipeline = undefined;
      this.#settings = undefined;
      await before?.close();
    });
  }

  async #start(settings: PipelineSettings): Promise<Pipeline | undefined> {
    try {
      const { Pipeline } = await import("./pipeline.ts");
      return await Pipeline.start(settings, this.options);
    } catch (error) {
      const reason = toError(error).message;
      this.options.log.error(`calls are not traced: ${reason}`, { event: "tracing_failed" });
    }
  }

  /** One change after the other. */
  #next(run: () => Promise<void>): Promise<void> {
    return this.#work = this.#work.then(run);
  }
}

/** What is wanted in all; undefined when that is nothing. */
function settingsOf(
  { print, folder }: Pick<TelemetryOptions, "print" | "folder">,
  tracing: TracingConfig | undefined,
): PipelineSettings | undefined {
  const on = tracing?.enabled ? tracing : undefined;
  const settings: PipelineSettings = {
    metrics: print,
    spans: print || (on?.console ?? false),
    folder: on?.disk ? folder() : undefined,
    collector: on?.otlpendpoint || undefined,
  };
  const { metrics, spans, collector } = settings;
  return metrics || spans || settings.folder || collector ? settings : undefined;
}
