/** The resource that stands here for one that runs elsewhere: in a module. */
import type { DescService, JsonObject } from "@bufbuild/protobuf";
import { toJson } from "@bufbuild/protobuf";
import { type Value, ValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import type { ForwardChannel } from "../../../shared/rpc/client/forward.ts";
import type { Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { addresseeOf } from "./addressee.ts";
import type { UntypedMethod } from "../../resources/graph/driver.ts";
import type { CallContext, Readings, Resource } from "../../resources/graph/resource.ts";

export interface ForwardedResourceOptions {
  readonly channel: ForwardChannel;
  /** Service of the resource's API. */
  readonly service: DescService;
  /** Short name that the peer knows the resource by. */
  readonly name: string;
  /** Notifies the peer that the resource is no longer wanted. */
  readonly remove: () => Promise<void>;
}

/**
 * Calls from outside go through {@link Resource.forward} as bytes. Other resources, which have it
 * among their dependencies, call the same methods that a built-in driver of the API has.
 */
export function forwardedResource(options: ForwardedResourceOptions): Resource {
  const { channel, service, name, remove } = options;
  const client = createClient(service, channel.transport) as unknown as UntypedClient;
  const resource: Record<string, unknown> = { forward: channel, close: remove };
  for (const { localName, methodKind, input } of service.methods) {
    const call = client[localName]!;
    const addressee = addresseeOf(input);
    const named = (request: object) => addressee ? addressee.put(request, name) : request;
    resource[localName] = plainForm(localName, name, call) ??
      (methodKind === "unary" || methodKind === "server_streaming"
        ? ((request, { signal }) => call(named(request as object), { signal }))
        : ((requests, { signal }) =>
          call(mapped(requests as AsyncIterable<object>, named), {
            signal,
          }))) satisfies UntypedMethod;
  }
  return resource as Resource;
}

type UntypedClient = Record<string, UntypedCall>;
type UntypedCall = (request: unknown, options: { signal: AbortSignal }) => unknown;

/** The methods whose form in {@link Resource} is not that of the wire. */
function plainForm(method: string, name: string, remote: UntypedCall) {
  const ask = async (fields: object, { signal }: CallContext) =>
    await remote({ name, ...fields }, { signal }) as Record<string, unknown>;
  switch (method) {
    case "doCommand":
      return async (command: JsonObject, call: CallContext) =>
        (await ask({ command }, call))["result"] ?? {};
    case "getStatus":
      return async (call: CallContext) => (await ask({}, call))["result"] ?? {};
    case "getGeometries":
      return async (call: CallContext) => (await ask({}, call))["geometries"] as Geometry[];
    case "stop":
      return async (call: CallContext) => void await ask({}, call);
    case "getReadings":
      return async (extra: JsonObject | undefined, call: CallContext): Promise<Readings> => {
        const { readings } = await ask(extra ? { extra } : {}, call);
        return Object.fromEntries(
          Object.entries(readings as { [key: string]: Value })
            .map(([key, value]) => [key, toJson(ValueSchema, value)]),
        );
      };
  }
}

async function* mapped(
  requests: AsyncIterable<object>,
  change: (request: object) => object,
): AsyncIterable<object> {
  for await (const request of requests) yield change(request);
}
