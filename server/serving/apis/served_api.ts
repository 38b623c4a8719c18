/** A resource API as the server serves it. */
import type { DescMethod, DescService } from "@bufbuild/protobuf";
import {
  Code,
  ConnectError,
  type ContextValues,
  type HandlerContext,
  type ServiceImpl,
} from "@connectrpc/connect";
import type { ByteHandler } from "../../../shared/rpc/client/forward.ts";
import type { ByteRoute, RpcRouter, UntypedHandler } from "../../../shared/rpc/server/router.ts";
import { resourceCheckKey } from "../access/call_rights.ts";
import { driverMethod, type UntypedMethod } from "../../resources/graph/driver.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";
import { fullName } from "../../resources/graph/name.ts";
import { isMonitored, type SafetyMonitor } from "../sessions/monitored.ts";
import { type Addressee, addresseeOf } from "../../modules/forwarding/addressee.ts";
import { callDriver, commonMethods, driverError, notSupported } from "./driver_call.ts";

/** An API and the service that carries it. */
export interface ServedApi {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** `viam.component.sensor.v1.SensorService` */
  readonly service: DescService;
  /**
   * Mounts the service, whose methods are made with its first call; its handlers look resources up
   * in `resources`.
   */
  mount(router: RpcRouter, resources: ResourceIndex, monitor?: SafetyMonitor): void;
}

/**
 * An API whose methods call the driver's methods of the same name, found by the request's `name`.
 * `overrides` are for methods whose driver form is not that of the wire.
 */
export function servedApi<S extends DescService>(
  api: string,
  service: S,
  overrides: (resources: ResourceIndex, api: string) => Partial<ServiceImpl<S>> = () => ({}),
): ServedApi {
  return {
    api,
    service,
    mount(router, resources, monitor) {
      const handlers = () => {
        const common: Record<string, unknown> = commonMethods(api, resources);
        const own: Record<string, unknown> = overrides(resources, api);
        const made: Record<string, unknown> = {};
        for (const method of service.methods) {
          const special = own[method.localName] ?? common[method.localName];
          made[method.localName] = special
            ? checkedFirst(api, resources, special as UntypedHandler)
            : genericHandler({ api, resources, method, monitor });
        }
        return made as Partial<ServiceImpl<S>>;
      };
      router.service(service, handlers, {
        route: (method) => byteRoute({ api, resources, method, monitor }),
      });
    },
  };
}

/** One method of an API, where it is mounted. */
export interface MountedMethod {
  readonly api: string;
  readonly resources: ResourceIndex;
  readonly method: DescMethod;
  /** Notified of calls that move something. */
  readonly monitor: SafetyMonitor | undefined;
}

/** Calls the driver's method of the same name. */
function genericHandler(mounted: MountedMethod): UntypedHandler {
  const { api, resources, method } = mounted;
  const addressee = addresseeOf(method.input);
  if (!addressee) return nameless(method);
  const monitor = isMonitored(method) ? mounted.monitor : undefined;
  const run = (resource: Resource, name: string, request: unknown, call: HandlerContext) => {
    mayUse(call, api, name);
    const found: UntypedMethod | undefined = driverMethod(resource, method.localName);
    if (!found) throw notSupported(api, name, method.name);
    monitor?.used(call, fullName(api, name));
    return found.call(resource, request, call);
  };
  switch (method.methodKind) {
    case "unary":
      return (request, call) => {
        const name = resources.wholeName(api, addressee.of(request));
        return callDriver(resources, api, name, (resource) => run(resource, name, request, call));
      };
    case "client_streaming":
      return async (requests, call) => {
        const { name: named, all } = await namedStream(
          requests as AsyncIterable<object>,
          addressee,
          api,
        );
        const name = resources.wholeName(api, named);
        return await callDriver(
          resources,
          api,
          name,
          (resource) => run(resource, name, all, call),
        );
      };
    case "server_streaming":
      return (request, call) => {
        const name = resources.wholeName(api, addressee.of(request));
        return streamFrom(resources, api, name, (resource) => run(resource, name, request, call));
      };
    case "bidi_streaming":
      return async function* (requests, call: HandlerContext) {
        const { name: named, all } = await namedStream(
          requests as AsyncIterable<object>,
          addressee,
          api,
        );
        const name = resources.wholeName(api, named);
        yield* streamFrom(resources, api, name, (resource) => run(resource, name, all, call));
      };
  }
}

/** A handler of unary calls whose requests have the field `name`. */
function checkedFirst(
  api: string,
  resources: ResourceIndex,
  handler: UntypedHandler,
): UntypedHandler {
  return (request, call) => {
    const check = call.values.get(resourceCheckKey);
    if (!check) return handler(request, call);
    const name = resources.wholeName(api, (request as unknown as { name: string }).name);
    return Promise.resolve().then(() => {
      check(name, fullName(api, name));
      return handler(request, call);
    });
  };
}

/** Throws PERMISSION_DENIED when the caller may not use this resource. */
function mayUse({ values }: { readonly values: ContextValues }, api: string, name: string): void {
  values.get(resourceCheckKey)?.(name, fullName(api, name));
}

/** Nobody can say which resource such a call is for. */
export function nameless(method: DescMethod): UntypedHandler {
  const error = () =>
    new ConnectError(
      `${method.input.typeName} has no field with the name of a resource`,
      Code.Unimplemented,
    );
  return method.methodKind === "unary" || method.methodKind === "client_streaming"
    ? () => Promise.reject(error())
    : () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error()) }) });
}

/** What a driver streams; it counts as a call of the resource until it ends. */
async function* streamFrom(
  resources: ResourceIndex,
  api: string,
  name: string,
  use: (resource: Resource) => unknown,
): AsyncGenerator<unknown> {
  const node = resources.acquire(api, name);
  try {
    yield* use(node.instance!) as AsyncIterable<unknown>;
  } catch (error) {
    throw driverError(error);
  } finally {
    resources.release(node);
  }
}

/** The resource that a stream of requests is for stands in its first message. */
export async function namedStream(
  requests: AsyncIterable<object>,
  addressee: Addressee,
  api: string,
) {
  const rest = requests[Symbol.asyncIterator]();
  const first = await rest.next();
  if (first.done) {
    throw new ConnectError(
      `the stream was closed without a message that names a resource of ${api}`,
      Code.InvalidArgument,
    );
  }
  async function* all() {
    yield first.value as object;
    yield* { [Symbol.asyncIterator]: () => rest };
  }
  return { name: addressee.of(first.value), all: all() };
}

/** Calls of resources that run elsewhere are passed on without being decoded here. */
export function byteRoute(mounted: MountedMethod): ByteRoute | undefined {
  const { api, resources, method } = mounted;
  const addressee = addresseeOf(method.input);
  return addressee && ((request) => {
    const name = addressee.ofBytes(request);
    if (name === undefined || !resources.find(api, name)?.instance?.forward) return undefined;
    return counted(mounted, name);
  });
}

/** The way to where the resource runs; each call counts as one of the resource's. */
export function counted(
  { api, resources, method, monitor }: MountedMethod,
  name: string,
): ByteHandler {
  const watched = isMonitored(method) ? monitor : undefined;
  return {
    async unary(call, request) {
      const node = resources.acquire(api, name);
      try {
        mayUse(call, api, node.target.spec.name);
        watched?.used(call, node.key);
        return await node.instance!.forward!.unary(call, request);
      } finally {
        resources.release(node);
      }
    },
    async *stream(call, requests) {
      const node = resources.acquire(api, name);
      try {
        mayUse(call, api, node.target.spec.name);
        watched?.used(call, node.key);
        yield* node.instance!.forward!.stream(call, requests);
      } finally {
        resources.release(node);
      }
    },
  };
}
