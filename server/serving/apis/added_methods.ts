/** Methods of an API that a module has and our text of the API lacks: passed on to the module. */
import {
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { type ForwardedCall, isForwardedKey } from "../../../shared/rpc/client/forward.ts";
import { checkValues } from "../../../shared/rpc/message_values.ts";
import type { RpcRouter, UntypedHandler } from "../../../shared/rpc/server/router.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";
import type { SafetyMonitor } from "../sessions/monitored.ts";
import { addresseeOf } from "../../modules/forwarding/addressee.ts";
import { notSupported } from "./driver_call.ts";
import { byteRoute, counted, namedStream, nameless } from "./served_api.ts";

/**
 * Serves what `service`, as a module describes it, has next to the methods that the router serves.
 * No driver of this server has them: they are answered by resources of modules only.
 */
export function addMethods(
  api: string,
  service: DescService,
  router: RpcRouter,
  resources: ResourceIndex,
  monitor: SafetyMonitor | undefined,
): void {
  const handlers: Record<string, unknown> = {};
  for (const method of service.methods) {
    handlers[method.localName] = passingOn({ api, resources, method, monitor });
  }
  router.extend(service, handlers as Partial<ServiceImpl<DescService>>, {
    route: (method) => byteRoute({ api, resources, method, monitor }),
  });
}

/** For calls that were decoded: gRPC-web and Connect, and those that no module answers. */
function passingOn(mounted: Parameters<typeof counted>[0]): UntypedHandler {
  const { api, resources, method } = mounted;
  const addressee = addresseeOf(method.input);
  if (!addressee) return nameless(method);
  const way = (name: string) => {
    if (resources.find(api, name)?.instance?.forward) return counted(mounted, name);
    throw notSupported(api, name, method.name);
  };
  const encode = (request: object) => toBinary(method.input, request as Message);
  const decode = (bytes: Uint8Array) => {
    // A module's answer must not stop this process.
    checkValues(method.output, bytes);
    return fromBinary(method.output, bytes);
  };
  async function* answers(
    call: HandlerContext,
    { name, all }: { name: string; all: AsyncIterable<object> },
  ) {
    async function* encoded() {
      for await (const request of all) yield encode(request);
    }
    for await (const bytes of way(name).stream(passedOn(method, call), encoded())) {
      yield decode(bytes);
    }
  }
  const stream = async (requests: unknown) =>
    await namedStream(requests as AsyncIterable<object>, addressee, api);
  switch (method.methodKind) {
    case "unary":
      return async (request, call) =>
        decode(
          await way(addressee.of(request)).unary(passedOn(method, call), encode(request as object)),
        );
    case "server_streaming":
      return (request, call) =>
        answers(call, { name: addressee.of(request), all: once(request as object) });
    case "client_streaming":
      return async (requests, call) => {
        for await (const answer of answers(call, await stream(requests))) return answer;
      };
    case "bidi_streaming":
      return async function* (requests, call: HandlerContext) {
        yield* answers(call, await stream(requests));
      };
  }
}

async function* once(request: object): AsyncIterable<object> {
  yield request;
}

/** A call that came decoded, in the form of one that is passed on. */
function passedOn(method: DescMethod, call: HandlerContext): ForwardedCall {
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    method,
    values: call.values,
    responseHeader: call.responseHeader,
    cancelSignal: call.signal,
    timeoutMs: () => call.timeoutMs(),
    forwardedHeaders: () =>
      Object.fromEntries([...call.requestHeader].filter(([key]) => isForwardedKey(key))),
  };
}
