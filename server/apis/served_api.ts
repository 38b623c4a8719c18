/** A resource API as the server serves it. */
import type { DescService } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcRouter } from "../../shared/rpc/router.ts";
import type { ResourceIndex } from "../resources/resource_index.ts";

/** An API and the service that carries it. */
export interface ServedApi {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** `viam.component.sensor.v1.SensorService` */
  readonly service: DescService;
  /** Mounts the service; its handlers look resources up in `resources`. */
  mount(router: RpcRouter, resources: ResourceIndex): void;
}

/** Ties a service description to its implementation. */
export function servedApi<S extends DescService>(
  api: string,
  service: S,
  implement: (resources: ResourceIndex, api: string) => Partial<ServiceImpl<S>>,
): ServedApi {
  return {
    api,
    service,
    mount: (router, resources) => void router.service(service, implement(resources, api)),
  };
}
