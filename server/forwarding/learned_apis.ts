/** The resource APIs this server serves: its own, and those it learned from modules. */
import type { DescService } from "@bufbuild/protobuf";
import type { RpcRouter } from "../../shared/rpc/router.ts";
import { type ServedApi, servedApi } from "../apis/served_api.ts";
import type { ResourceIndex } from "../resources/resource_index.ts";
import type { SafetyMonitor } from "../sessions/monitored.ts";

/**
 * Mounts APIs on routers. An API that a module brings is served from then on, on the routers that
 * are there and on later ones, by native gRPC, gRPC-web and Connect, and shown by reflection. It
 * stays when the module goes; its resources are then not found.
 */
export class LearnedApis {
  readonly #apis = new Map<string, ServedApi>();
  readonly #routers = new Set<RpcRouter>();

  /** @param monitor is told of calls that move something. */
  constructor(
    own: readonly ServedApi[],
    private readonly resources: ResourceIndex,
    private readonly monitor?: SafetyMonitor,
  ) {
    for (const api of own) this.#apis.set(api.api, api);
  }

  /** All APIs, the server's own first. */
  list(): ServedApi[] {
    return [...this.#apis.values()];
  }

  /** The service that carries an API; undefined for one nobody has brought yet. */
  serviceOf(api: string): DescService | undefined {
    return this.#apis.get(api)?.service;
  }

  /**
   * Serves an API from now on. The first description of an API counts: nothing happens when it is
   * known already, or when its service carries another API.
   *
   * @returns whether it was new.
   */
  add(service: DescService, api: string): boolean {
    const carried = this.list().some((known) => known.service.typeName === service.typeName);
    if (carried || this.#apis.has(api)) return false;
    const served = servedApi(api, service);
    this.#apis.set(api, served);
    for (const router of this.#routers) served.mount(router, this.resources, this.monitor);
    return true;
  }

  /** Mounts all APIs on a router, and later ones as they come. */
  mount(router: RpcRouter): void {
    for (const api of this.#apis.values()) api.mount(router, this.resources, this.monitor);
    this.#routers.add(router);
  }

  /** No later APIs for this router; it is no longer served. */
  unmount(router: RpcRouter): void {
    this.#routers.delete(router);
  }
}
