/** Calls of a remote's resource, by the name that it has there and in this machine's session. */
import type { DescMessage, DescMethod } from "@bufbuild/protobuf";
import type { ContextValues, Transport } from "@connectrpc/connect";
import type { OutgoingHttpHeaders } from "node:http2";
import type { CancelSignal } from "../../shared/rpc/client/call_channel.ts";
import type { ForwardChannel, ForwardedCall } from "../../shared/rpc/client/forward.ts";
import { type Addressee, addresseeOf } from "../modules/forwarding/addressee.ts";
import { isMonitored } from "../serving/sessions/monitored.ts";
import { isSessionExpired, type RemoteSession, SESSION_HEADER } from "./remote_session.ts";

/** Calls of one connection, which name resources as the remote does. */
export class RemoteCalls {
  readonly #addressees = new WeakMap<DescMessage, Addressee | null>();
  readonly #transport: Transport;

  constructor(
    private readonly channel: ForwardChannel,
    private readonly session: RemoteSession,
  ) {
    this.#transport = sessionTransport(channel.transport, session);
  }

  /** The channel for one resource, which is called `theirs` there. */
  of(theirs: string): ForwardChannel {
    return {
      transport: this.#transport,
      unary: (call, request) => this.#unary(call, this.#renamed(call, request, theirs)),
      stream: (call, requests) => this.#stream(call, requests, theirs),
      close: () => {},
    };
  }

  #unary(call: ForwardedCall, request: Uint8Array): Promise<Uint8Array> {
    return isMonitored(call.method)
      ? this.#monitored(call, request)
      : this.channel.unary(new SessionCall(call, undefined), request);
  }

  async #monitored(call: ForwardedCall, request: Uint8Array): Promise<Uint8Array> {
    const id = await this.session.id();
    try {
      return await this.channel.unary(new SessionCall(call, id), request);
    } catch (error) {
      if (id === undefined || !isSessionExpired(error)) throw error;
      // The remote has done nothing yet.
      this.session.expired(id);
      return await this.channel.unary(new SessionCall(call, await this.session.id()), request);
    }
  }

  async *#stream(
    call: ForwardedCall,
    requests: AsyncIterable<Uint8Array>,
    theirs: string,
  ): AsyncIterable<Uint8Array> {
    const id = isMonitored(call.method) ? await this.session.id() : undefined;
    const renamed = (request: Uint8Array) => this.#renamed(call, request, theirs);
    async function* all() {
      for await (const request of requests) yield renamed(request);
    }
    yield* this.channel.stream(new SessionCall(call, id), all());
  }

  #renamed({ method: { input } }: ForwardedCall, request: Uint8Array, theirs: string): Uint8Array {
    let addressee = this.#addressees.get(input);
    if (addressee === undefined) {
      this.#addressees.set(input, addressee = addresseeOf(input) ?? null);
    }
    // Of some streams only the first message names the resource.
    return addressee?.ofBytes(request) ? addressee.putBytes(request, theirs) : request;
  }
}

/** Puts calls that move something, which this machine's own drivers make, into its session. */
function sessionTransport(inner: Transport, session: RemoteSession): Transport {
  const headersOf = async (method: DescMethod, header: HeadersInit | undefined) => {
    const id = isMonitored(method) ? await session.id() : undefined;
    if (id === undefined) return header;
    const headers = new Headers(header);
    headers.set(SESSION_HEADER, id);
    return headers;
  };
  return {
    async unary(method, signal, timeoutMs, header, message, values) {
      const headers = await headersOf(method, header);
      return await inner.unary(method, signal, timeoutMs, headers, message, values);
    },
    async stream(method, signal, timeoutMs, header, messages, values) {
      const headers = await headersOf(method, header);
      return await inner.stream(method, signal, timeoutMs, headers, messages, values);
    },
  };
}

/** The caller's session is one of this machine; it means nothing to the remote. */
class SessionCall implements ForwardedCall {
  readonly path: string;
  readonly method: DescMethod;

  constructor(private readonly call: ForwardedCall, private readonly id: string | undefined) {
    this.path = call.path;
    this.method = call.method;
  }

  // Made by who wants them: each costs as much as passing the call on.
  get values(): ContextValues {
    return this.call.values;
  }
  get responseHeader(): Headers {
    return this.call.responseHeader;
  }
  get cancelSignal(): CancelSignal {
    return this.call.cancelSignal;
  }

  timeoutMs(): number | undefined {
    return this.call.timeoutMs();
  }

  forwardedHeaders(): OutgoingHttpHeaders {
    const headers = this.call.forwardedHeaders();
    delete headers[SESSION_HEADER];
    if (this.id !== undefined) headers[SESSION_HEADER] = this.id;
    return headers;
  }
}
