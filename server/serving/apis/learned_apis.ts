/** The resource APIs this server serves: its own, and those it learned from modules. */
import type { DescService } from "@bufbuild/protobuf";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { addMethods } from "./added_methods.ts";
import { type ServedApi, servedApi } from "./served_api.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";
import type { SafetyMonitor } from "../sessions/monitored.ts";

/**
 * Mounts APIs on routers. An API that a module brings is served from then on, on the routers that
 * are there and on later ones, by native gRPC, gRPC-web and Connect, and shown by reflection. It
 * stays when the module goes; its resources are then not found.
 */
export class LearnedApis {
  readonly #apis = new Map<string, ServedApi>();
  /** Other texts of APIs that are known, with more methods. */
  readonly #others = new Map<string, DescService[]>();
  readonly #routers = new Set<RpcRouter>();

  /** @param monitor is notified of calls that move something. */
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
   * Serves an API from now on. The first description of a method counts: of an API that is known
   * already only methods are added that nobody has described. Nothing happens when the service
   * carries another API.
   *
   * @returns whether the API was new.
   */
  add(service: DescService, api: string): boolean {
    const known = this.#apis.get(api);
    if (known?.service.typeName === service.typeName) {
      const before = [known.service, ...this.#others.get(api) ?? []];
      const has = (name: string) =>
        before.some(({ methods }) => methods.some((method) => method.name === name));
      if (service.methods.every(({ name }) => has(name))) return false;
      this.#others.set(api, [...this.#others.get(api) ?? [], service]);
      for (const router of this.#routers) {
        addMethods(api, service, router, this.resources, this.monitor);
      }
      return false;
    }
    const carried = this.list().some((known) => known.service.typeName === service.typeName);
    if (carried || this.#apis.has(api)) return false;
    const served = servedApi(api, service);
    this.#apis.set(api, served);
    for (const router of this.#routers) served.mount(router, this.resources, this.monitor);
    return true;
  }

  /** Mounts all APIs on a router, and later ones as they come. */
  mount(router: RpcRouter): void {
    for (const served of this.#apis.values()) {
      served.mount(router, this.resources, this.monitor);
      for (const other of this.#others.get(served.api) ?? []) {
        addMethods(served.api, other, router, this.resources, this.monitor);
      }
    }
    this.#routers.add(router);
  }

  /** No later APIs for this router; it is no longer served. */
  unmount(router: RpcRouter): void {
    this.#routers.delete(router);
  }
}
