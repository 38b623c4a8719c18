/** The form of a driver: the methods of its API's gRPC service, as plain functions over messages. */
import type { DescService } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import type { CallContext, Resource } from "./resource.ts";

/** Methods that every API shares; a driver has them in the plainer form of {@link Resource}. */
export type CommonMethod = "doCommand" | "getStatus" | "getGeometries" | "getReadings" | "stop";

/**
 * A driver of the API that service `S` carries. Each method takes the request (a stream of them
 * where the client streams) and returns the fields of the response, or an async iterable of them
 * where the server streams. Methods left out answer UNIMPLEMENTED.
 */
export type Driver<S extends DescService> = Resource & Partial<DriverMethods<S>>;

type DriverMethods<S extends DescService> = {
  [M in Exclude<keyof ServiceImpl<S>, CommonMethod>]: ServiceImpl<S>[M] extends
    (request: infer Request, context: HandlerContext) => infer Response
    ? (request: Request, call: CallContext) => Response
    : never;
};

/** A driver's method without its message types, as the generic handlers call it. */
export type UntypedMethod = (request: unknown, call: CallContext) => unknown;

/** The driver's own method of that generated name; undefined when it has none. */
export function driverMethod(resource: Resource, name: string): UntypedMethod | undefined {
  const method = (resource as Record<string, unknown>)[name];
  return typeof method === "function" ? method as UntypedMethod : undefined;
}
