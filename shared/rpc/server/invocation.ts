/** Calls whose messages are bytes, on their way through decoding, handler and encoding. */
import { create, fromBinary, type Message, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, type HandlerContext } from "@connectrpc/connect";
import type { ForwardedCall } from "../client/forward.ts";
import { checkValues } from "../message_values.ts";
import type { MethodBinding } from "./router.ts";

/** The request of a call, or all of them where its method takes a stream. */
export type EncodedRequest = Uint8Array | AsyncGenerator<Uint8Array>;

/** The encoded answer of a method with one, from its handler or from who answers it as bytes. */
export async function invokeOne(
  binding: MethodBinding,
  call: HandlerContext & ForwardedCall,
  request: EncodedRequest,
): Promise<Uint8Array> {
  if (request instanceof Uint8Array) {
    const elsewhere = binding.route?.(request);
    if (elsewhere) return await elsewhere.unary(call, request);
    return encode(binding, await binding.handler(decode(binding, request), call));
  }
  const { elsewhere, all } = await routeStream(binding, request);
  if (!elsewhere) return encode(binding, await binding.handler(decodeAll(binding, all), call));
  for await (const response of elsewhere.stream(call, all)) return response;
  throw new ConnectError("the call finished without a response", Code.Internal);
}

/** The encoded answers of a method with a stream of them. */
export function invokeMany(
  binding: MethodBinding,
  call: HandlerContext & ForwardedCall,
  request: EncodedRequest,
): AsyncIterator<Uint8Array> {
  if (!(request instanceof Uint8Array)) {
    if (binding.route) return manyRouted(binding, call, request);
    return encodeAll(binding, binding.handler(decodeAll(binding, request), call));
  }
  const elsewhere = binding.route?.(request);
  if (elsewhere) return elsewhere.stream(call, once(request))[Symbol.asyncIterator]();
  return encodeAll(binding, binding.handler(decode(binding, request), call));
}

async function* manyRouted(
  binding: MethodBinding,
  call: HandlerContext & ForwardedCall,
  requests: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  const { elsewhere, all } = await routeStream(binding, requests);
  if (elsewhere) yield* elsewhere.stream(call, all);
  else yield* from(encodeAll(binding, binding.handler(decodeAll(binding, all), call)));
}

/** Where a route has to see the first request, the stream is read that far and put together again. */
async function routeStream({ route }: MethodBinding, requests: AsyncGenerator<Uint8Array>) {
  if (!route) return { elsewhere: undefined, all: requests };
  const first = await requests.next();
  const all = first.done ? none() : resumed(first.value, requests);
  return { elsewhere: first.done ? undefined : route(first.value), all };
}

function encode({ method }: MethodBinding, response: unknown): Uint8Array {
  return toBinary(method.output, create(method.output, response as Message));
}

/** A plain iterator: its `return` reaches the handler also while a message is awaited. */
function encodeAll(binding: MethodBinding, responses: unknown): AsyncIterator<Uint8Array> {
  const inner = (responses as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return {
    next: async () => {
      const { done, value } = await inner.next();
      return done ? { done, value: undefined } : { value: encode(binding, value) };
    },
    return: async () => {
      await inner.return?.();
      return { done: true, value: undefined };
    },
  };
}

function decode({ method }: MethodBinding, bytes: Uint8Array): Message {
  checkValues(method.input, bytes);
  try {
    return fromBinary(method.input, bytes);
  } catch (error) {
    throw new ConnectError(
      `the request is not a valid ${method.input.typeName}: ${(error as Error).message}`,
      Code.InvalidArgument,
    );
  }
}

async function* decodeAll(binding: MethodBinding, requests: AsyncIterable<Uint8Array>) {
  for await (const bytes of requests) yield decode(binding, bytes);
}

async function* once(request: Uint8Array): AsyncGenerator<Uint8Array> {
  yield request;
}

async function* none(): AsyncGenerator<Uint8Array> {}

async function* from(messages: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* { [Symbol.asyncIterator]: () => messages };
}

async function* resumed(
  first: Uint8Array,
  rest: AsyncGenerator<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield first;
  yield* rest;
}
