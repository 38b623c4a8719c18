import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import type { DescService } from "@bufbuild/protobuf";
import type { CloudCredentials } from "../auth/cloud_credentials.ts";
import { isSecureAddress } from "../credentials/secure_address.ts";
import { AuthService } from "../../gen/proto/rpc/v1/auth_pb.ts";
import type { Secret } from "../../base/redaction/secret.ts";
import type { Logger } from "../../log/logger.ts";
import { hasReliableHttp2 } from "../../rpc/client/fallback/reliable_http2.ts";
import { lazyTransport } from "../../rpc/client/lazy_transport.ts";

/** Metadata by which our own programs notify the cloud that a person saves with them. */
export const CLIENT_HEADER = "machine-client";

/** What a sign-in of a person gave; it is not renewed. */
export interface AccessToken {
  readonly type: "access-token";
  readonly payload: Secret;
}

export interface CloudConnectionOptions {
  /** `https://host:port`, or `http://host:port` for plaintext. */
  readonly appAddress: string;
  /** Undefined: for the calls that need no token, such as signing in. */
  readonly credentials: CloudCredentials | AccessToken | undefined;
  /** What is sent as {@link CLIENT_HEADER}. Default: nothing. */
  readonly client?: "cli";
  /** The program that calls, `name/version`, as people see it in the list of their sessions. */
  readonly userAgent?: string;
  /** Send credentials over plaintext to another host. Default false. */
  readonly allowInsecure?: boolean;
  /** PEM text of the authority to trust. Default: the system's. */
  readonly ca?: string | undefined;
  /**
   * Speak native gRPC; otherwise gRPC-web, and HTTP/2 of our own for streams both ways. Default: as
   * far as the runtime is good for it.
   */
  readonly http2?: boolean;
  /** Answers of too many values fail their call: for who is not trusted. Default false. */
  readonly fewValues?: boolean;
  readonly log: Logger;
}

const AUTHENTICATE_TIMEOUT_MS = 15_000;

/**
 * The connection of a program of ours to its cloud. It connects and authenticates when first
 * used, again when the cloud no longer takes its token, and reconnects automatically.
 */
export class CloudConnection {
  /** Calls through it are authenticated. */
  readonly transport: Transport;
  readonly #plain: Transport & { close(): void };
  readonly #options: CloudConnectionOptions;
  #token: Promise<string> | undefined;

  private constructor(options: CloudConnectionOptions) {
    this.#options = options;
    const { appAddress: baseUrl, ca, userAgent, fewValues = false } = options;
    const { http2 = hasReliableHttp2() } = options;
    const wired = { baseUrl, ca, userAgent, fewValues, interceptors: [this.#authenticated()] };
    // 70 ms of a start, and a program may serve before it needs its cloud.
    this.#plain = lazyTransport(async () => {
      if (http2) {
        const { createGrpcTransport } = await import("../../rpc/client/grpc_transport.ts");
        return createGrpcTransport(wired);
      }
      const { createFallbackTransport } = await import("../../rpc/client/fallback/both_ways.ts");
      return createFallbackTransport(wired);
    });
    this.transport = this.#plain;
  }

  /** Nothing is sent yet. Throws when credentials would go over plaintext to another host. */
  static open(options: CloudConnectionOptions): CloudConnection {
    if (!options.allowInsecure && !isSecureAddress(options.appAddress)) {
      throw new Error(
        `${options.appAddress} is plaintext: credentials could be read in transit; ` +
          "use https://, or allow it with -allow-insecure-creds",
      );
    }
    return new CloudConnection(options);
  }

  /** A client for one of the cloud's services, made with its first call. */
  client<S extends DescService>(service: S): Client<S> {
    let made: Client<S> | undefined;
    return new Proxy({} as Client<S>, {
      get: (_, method) =>
        (made ??= createClient(service, this.transport))[method as keyof Client<S>],
    });
  }

  close(): void {
    this.#plain.close();
  }

  #authenticated(): Interceptor {
    return (next) => async (request) => {
      const { credentials, client, userAgent } = this.#options;
      if (client !== undefined) request.header.set(CLIENT_HEADER, client);
      // Native gRPC takes it from the connection alone.
      if (userAgent !== undefined) request.header.set("user-agent", userAgent);
      const isOpen = request.service.typeName === AuthService.typeName || !credentials;
      if (isOpen) return await next(request);
      if (credentials.type === "access-token") {
        request.header.set("authorization", `Bearer ${credentials.payload.reveal()}`);
        return await next(request);
      }
      const authenticate = () => this.#authenticate(credentials);
      const token = this.#token ??= authenticate();
      request.header.set("authorization", `Bearer ${await this.#settled(token)}`);
      try {
        const response = await next(request);
        return response.stream
          ? { ...response, message: this.#followed(response.message, token) }
          : response;
      } catch (error) {
        if (!isUnauthenticated(error)) throw error;
        this.#forget(token);
        if (request.stream) throw error;
        const renewed = this.#token ??= authenticate();
        request.header.set("authorization", `Bearer ${await this.#settled(renewed)}`);
        return await next(request);
      }
    };
  }

  /** A stream that the cloud ends for its token makes the next call authenticate again. */
  async *#followed<T>(messages: AsyncIterable<T>, token: Promise<string>): AsyncIterable<T> {
    try {
      yield* messages;
    } catch (error) {
      if (isUnauthenticated(error)) this.#forget(token);
      throw error;
    }
  }

  async #settled(token: Promise<string>): Promise<string> {
    try {
      return await token;
    } catch (error) {
      this.#forget(token);
      throw error;
    }
  }

  #forget(token: Promise<string>): void {
    if (this.#token === token) this.#token = undefined;
  }

  async #authenticate({ type, entity, payload }: CloudCredentials): Promise<string> {
    const { log } = this.#options;
    const { accessToken } = await createClient(AuthService, this.#plain).authenticate(
      { entity, credentials: { type, payload: payload.reveal() } },
      { timeoutMs: AUTHENTICATE_TIMEOUT_MS },
    );
    log.debug("authenticated at the cloud", { type, entity });
    return accessToken;
  }
}

function isUnauthenticated(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unauthenticated;
}
