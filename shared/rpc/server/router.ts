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

/** A mounted service; its methods are bound when one is first requested. */
export interface ServiceBinding {
  readonly service: DescService;
  /** Those of the service, and what was added to it from another text of it. */
  readonly methods: readonly MethodBinding[];
}

/**
 * The services of a process, each written once as a Connect `ServiceImpl`. Transports ask it for
 * the method of each call, so that a service added later is served from then on.
 *
 * The transports are `grpc_server.ts` (HTTP/2), `web_handlers.ts` (gRPC-web and Connect),
 * `in_process.ts` and `data_channel/`.
 */
export class RpcRouter {
  readonly #services = new Map<string, MountedService>();

  /**
   * Adds a service. Methods that the implementation leaves out answer UNIMPLEMENTED.
   * Throws when the service is there already.
   *
   * @param implementation or what makes it when a method is first requested
   */
  service<S extends DescService>(
    service: S,
    implementation: Partial<ServiceImpl<S>> | (() => Partial<ServiceImpl<S>>),
    options: ServiceOptions = {},
  ): this {
    if (this.#services.has(service.typeName)) {
      throw new Error(`service ${service.typeName} is mounted twice`);
    }
    this.#services.set(
      service.typeName,
      new MountedService(service, () => {
        const made = typeof implementation === "function" ? implementation() : implementation;
        return bindMethods(service, made, options);
      }),
    );
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
    mounted.add(bindMethods(service, implementation, options));
    return this;
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
    return this.#services.get(path.slice(1, path.lastIndexOf("/")))?.method(path);
  }
}

class MountedService implements ServiceBinding {
  #methods: Map<string, MethodBinding> | undefined;

  constructor(readonly service: DescService, private readonly bind: () => MethodBinding[]) {}

  get methods(): readonly MethodBinding[] {
    return [...this.#bound.values()];
  }

  method(path: string): MethodBinding | undefined {
    return this.#bound.get(path);
  }

  /** Those that are not there yet. */
  add(methods: readonly MethodBinding[]): void {
    for (const method of methods) {
      if (!this.#bound.has(method.path)) this.#bound.set(method.path, method);
    }
  }

  get #bound(): Map<string, MethodBinding> {
    return this.#methods ??= new Map(this.bind().map((method) => [method.path, method]));
  }
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
