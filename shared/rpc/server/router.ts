import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { Code, ConnectError } from "@connectrpc/connect";
import type { DescMethod, DescService, Message } from "@bufbuild/protobuf";
import type { ByteHandler } from "../client/forward.ts";

/** A handler without its message types, as the adapters call it. */
export type UntypedHandler = (
  request: Message | AsyncIterable<Message>,
  context: HandlerContext,
) => unknown;

/**
 * Says who answers a call as bytes, by its first request; undefined when the handler does. Native
 * gRPC and data channels ask it; gRPC-web and Connect decode anyway and always call the handler.
 */
export type ByteRoute = (firstRequest: Uint8Array) => ByteHandler | undefined;

/** One method and what answers it. */
export interface MethodBinding {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly service: DescService;
  readonly method: DescMethod;
  readonly handler: UntypedHandler;
  readonly route: ByteRoute | undefined;
}

/** True for methods whose caller sends one message. */
export function takesOne({ method }: { readonly method: DescMethod }): boolean {
  return method.methodKind === "unary" || method.methodKind === "server_streaming";
}

export interface ServiceOptions {
  /** The byte route of each method. Default: none has one. */
  readonly route?: (method: DescMethod) => ByteRoute | undefined;
}

/** A service with its implementation, in the form the web adapter mounts. */
export interface ServiceBinding {
  readonly service: DescService;
  /** Those of the service, and what was added to it from another text of it. */
  readonly methods: readonly MethodBinding[];
}

/**
 * The services of a process, each written once as a Connect `ServiceImpl`. Transports mount the
 * router and follow it: a service added later is served from then on.
 *
 * The transports are `grpc_server.ts` (HTTP/2), `web_handlers.ts` (gRPC-web and Connect) and
 * `in_process.ts`; `data_channel/` asks it for the method of each call.
 */
export class RpcRouter {
  readonly #services = new Map<string, ServiceBinding>();
  readonly #followers = new Set<(added: ServiceBinding) => void>();

  /**
   * Adds a service. Methods that the implementation leaves out answer UNIMPLEMENTED.
   * Throws when the service is there already.
   */
  service<S extends DescService>(
    service: S,
    implementation: Partial<ServiceImpl<S>>,
    options: ServiceOptions = {},
  ): this {
    if (this.#services.has(service.typeName)) {
      throw new Error(`service ${service.typeName} is mounted twice`);
    }
    this.#mount({ service, methods: bindMethods(service, implementation, options) });
    return this;
  }

  /**
   * Adds what another text of a mounted service has next to the methods that are served.
   * Throws when the service is not there.
   */
  extend<S extends DescService>(
    service: S,
    implementation: Partial<ServiceImpl<S>>,
    options: ServiceOptions = {},
  ): this {
    const mounted = this.#services.get(service.typeName);
    if (!mounted) throw new Error(`service ${service.typeName} is not mounted`);
    const served = new Set(mounted.methods.map(({ path }) => path));
    const added = bindMethods(service, implementation, options)
      .filter(({ path }) => !served.has(path));
    if (added.length > 0) {
      this.#mount({ service: mounted.service, methods: [...mounted.methods, ...added] });
    }
    return this;
  }

  #mount(binding: ServiceBinding): void {
    this.#services.set(binding.service.typeName, binding);
    for (const follow of this.#followers) follow(binding);
  }

  /** True when the service is mounted. */
  has(typeName: string): boolean {
    return this.#services.has(typeName);
  }

  get services(): Iterable<ServiceBinding> {
    return this.#services.values();
  }

  /** What answers `/package.Service/Method` now; undefined when nothing does. */
  method(path: string): MethodBinding | undefined {
    const service = this.#services.get(path.slice(1, path.lastIndexOf("/")));
    return service?.methods.find((binding) => binding.path === path);
  }

  /** Calls `follow` for every service there is and every one added later, until the signal aborts. */
  follow(follow: (binding: ServiceBinding) => void, signal: AbortSignal): void {
    for (const binding of this.#services.values()) follow(binding);
    this.#followers.add(follow);
    signal.addEventListener("abort", () => this.#followers.delete(follow), { once: true });
  }
}

function bindMethods<S extends DescService>(
  service: S,
  implementation: Partial<ServiceImpl<S>>,
  options: ServiceOptions,
): MethodBinding[] {
  const handlers = implementation as Record<string, UntypedHandler | undefined>;
  return service.methods.map((method) => {
    const path = `/${service.typeName}/${method.name}`;
    const handler = handlers[method.localName];
    return {
      path,
      service,
      method,
      handler: handler ? handler.bind(implementation) : unimplemented(path, method),
      route: options.route?.(method),
    };
  });
}

function unimplemented(path: string, method: DescMethod): UntypedHandler {
  const error = () => new ConnectError(`${path} is not implemented`, Code.Unimplemented);
  if (method.methodKind === "unary" || method.methodKind === "client_streaming") {
    return () => Promise.reject(error());
  }
  return () => ({
    [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error()) }),
  });
}
