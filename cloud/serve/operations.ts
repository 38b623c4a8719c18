import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { Interceptor } from "../../shared/rpc/server/interceptor.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { ListenAddress } from "../api/addresses/addresses.ts";
import type { OperationRoutes } from "../api/http/routes.ts";
import { AccessLog } from "../operations/access_log/access_log.ts";
import type { Metrics } from "../operations/metrics/metrics.ts";
import { openApi } from "../../shared/openapi/openapi.ts";
import type { PlainHttp } from "../../shared/rpc/server/plain_http.ts";
import { ReadinessCheck } from "../operations/readiness/readiness.ts";
import type { Traces } from "../operations/traces/traces.ts";
import type { Queries } from "../storage/database/cloud_database.ts";
import type { Services } from "./services.ts";

/** What an operator requests next to the services. */
export interface OperationSettings {
  /** Left out: no port for metrics. */
  readonly metricsListen?: ListenAddress | undefined;
  /** Who has it gets `/metrics` on the public port; left out: nobody. */
  readonly metricsToken?: string | undefined;
  /** "-" is standard output; left out: no access log. */
  readonly accessLog?: string | undefined;
  /** Where spans of calls are sent by OTLP over HTTP; left out: nowhere. */
  readonly tracesUrl?: string | undefined;
}

export interface OperationsOptions extends OperationSettings {
  readonly queries: Queries;
  readonly dataDir: string;
  readonly services: Pick<Services, "presence" | "router">;
  readonly publicUrl: () => string;
  /** When the certificate of the port ends; undefined without TLS. */
  readonly certificateEnd: () => Date | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Readiness, metrics, the access log and the description of the API. */
export class Operations {
  readonly readiness: ReadinessCheck;
  readonly accessLog: AccessLog | undefined;
  #metricsServer: PlainHttp | undefined;

  private constructor(
    options: OperationsOptions,
    private readonly metrics: Metrics | undefined,
    private readonly traces: Traces | undefined,
    /** What the public port answers. */
    readonly routes: OperationRoutes,
  ) {
    const { queries, clock, log, accessLog: path } = options;
    this.readiness = new ReadinessCheck(queries, clock);
    this.accessLog = path === undefined ? undefined : new AccessLog({ path, clock, log });
  }

  /** @throws when the port for metrics is taken */
  static async open(options: OperationsOptions): Promise<Operations> {
    const { metricsListen, metricsToken, services, publicUrl } = options;
    const metrics = metricsListen || metricsToken !== undefined
      ? await openMetrics(options)
      : undefined;
    let document: string | undefined;
    const operations: Operations = new Operations(options, metrics, await openTraces(options), {
      ready: () => operations.readiness.answer(),
      openApi: () =>
        document ??= JSON.stringify(
          openApi({
            services: services.router.services,
            title: "machine-cloud",
            description:
              "All unary calls as JSON over HTTP (Connect protocol). Get an access token from " +
              "/proto.rpc.v1.AuthService/Authenticate with an API key, and send it as a bearer " +
              "token.",
            version: buildInfo.version,
            url: publicUrl(),
          }),
        ),
      metrics: metrics && metricsToken !== undefined
        ? (await import("../operations/metrics/metrics_access.ts")).metricsRoute(
          metrics,
          metricsToken,
        )
        : undefined,
    });
    if (metrics && metricsListen) {
      const { listenForMetrics } = await import("../operations/metrics/metrics_access.ts");
      const server = await listenForMetrics(
        { metrics, readiness: operations.readiness },
        metricsListen,
        options.log,
      );
      operations.#metricsServer = server;
      options.log.info("serving metrics", { port: server.address.port });
    }
    return operations;
  }

  /** Outermost, so that refused calls count, too. */
  get interceptors(): Interceptor[] {
    return [this.accessLog?.interceptor, this.metrics?.interceptor, this.traces?.interceptor]
      .filter((interceptor) => interceptor !== undefined);
  }

  /** Works until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    this.metrics?.watchLag(signal);
    await this.accessLog?.run(signal);
  }

  async close(): Promise<void> {
    await this.#metricsServer?.close();
    await this.traces?.close();
  }
}

async function openTraces({ tracesUrl, log }: OperationsOptions): Promise<Traces | undefined> {
  if (tracesUrl === undefined) return undefined;
  const { Traces } = await import("../operations/traces/traces.ts");
  return new Traces({ url: tracesUrl, version: buildInfo.version, log });
}

async function openMetrics(
  { queries, dataDir, services, certificateEnd, clock }: OperationsOptions,
): Promise<Metrics> {
  const { Metrics } = await import("../operations/metrics/metrics.ts");
  const sources = await import("../operations/metrics/metrics_sources.ts");
  return new Metrics({
    connectedMachines: () => services.presence.connected,
    queueLengths: () => sources.queueLengths(queries),
    finishedDeliveries: (sinceMs) => sources.finishedDeliveries(queries, sinceMs),
    databaseBytes: () => sources.databaseBytes(dataDir),
    certificateEnd,
    version: buildInfo.version,
    now: () => clock.now(),
  });
}
