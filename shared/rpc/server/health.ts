import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  Health,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from "../../gen/grpc/health/v1/health_pb.ts";
import type { RpcRouter } from "./router.ts";

/** The standard gRPC health service; a process serves from its start until it shuts down. */
export class HealthService {
  static readonly descriptor = Health;
  #status = ServingStatus.SERVING;
  readonly #watchers = new Set<() => void>();

  constructor(private readonly router: RpcRouter) {}

  /** Notifies every watcher that the process no longer serves, and ends their streams. */
  shutdown(): void {
    this.#status = ServingStatus.NOT_SERVING;
    for (const wake of this.#watchers) wake();
  }

  get implementation(): ServiceImpl<typeof Health> {
    return {
      check: ({ service }) => {
        if (!this.#knows(service)) {
          throw new ConnectError(`unknown service ${service}`, Code.NotFound);
        }
        return { status: this.#status };
      },
      list: () => ({
        statuses: Object.fromEntries(
          ["", ...[...this.router.services].map(({ service }) => service.typeName)]
            .map((name) => [name, { status: this.#status }]),
        ),
      }),
      watch: (request, context) => this.#watch(request.service, context.signal),
    };
  }

  async *#watch(service: string, signal: AbortSignal) {
    if (!this.#knows(service)) yield { status: ServingStatus.SERVICE_UNKNOWN };
    else yield { status: this.#status };
    if (this.#status !== ServingStatus.SERVING) return;
    await new Promise<void>((resolve) => {
      this.#watchers.add(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
      if (signal.aborted) resolve();
    });
    yield { status: this.#status };
  }

  #knows(name: string): boolean {
    if (name === "") return true;
    for (const { service } of this.router.services) if (service.typeName === name) return true;
    return false;
  }
}
