import {
  type Client,
  Code,
  ConnectError,
  createClient,
  type Interceptor,
  type Transport,
} from "@connectrpc/connect";
import { createFetchClient } from "@connectrpc/connect/protocol";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import type { DescService } from "@bufbuild/protobuf";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";

/** An API key with its id; or the secret of a part with the part's id. */
export interface ApiKey {
  id: string;
  key: string;
  /** Default `api-key`. */
  type?: "api-key" | "robot-secret";
}

/**
 * Opens the Connect JSON door of a cloud or a machine with an API key.
 * @param url `http://host:port`
 * @throws ConnectError UNAUTHENTICATED when the key is not accepted
 */
export async function signIn(url: string, key: ApiKey): Promise<SignedIn> {
  const { accessToken } = await createClient(AuthService, connectJson(url, [])).authenticate({
    entity: key.id,
    credentials: { type: key.type ?? "api-key", payload: key.key },
  });
  return signedInWith(url, accessToken);
}

/** Opens it with an access token that there is already, such as that of a person's session. */
export function signedInWith(url: string, accessToken: string): SignedIn {
  const authorize: Interceptor = (next) => (request) => {
    request.header.set("authorization", `Bearer ${accessToken}`);
    return next(request);
  };
  const transport = connectJson(url, [authorize]);
  return { client: (service) => createClient(service, transport), accessToken };
}

/** Clients that carry an access token. */
export interface SignedIn {
  client<S extends DescService>(service: S): Client<S>;
  accessToken: string;
}

/** Whether an error means that nobody answers at the address (yet). */
export function isUnreachable(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unavailable || error instanceof TypeError ||
    (error instanceof ConnectError && error.cause instanceof TypeError);
}

function connectJson(url: string, interceptors: Interceptor[]): Transport {
  return createTransport({
    baseUrl: url,
    httpClient: createFetchClient(fetchDecoded),
    useBinaryFormat: false,
    interceptors,
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: Number.MAX_SAFE_INTEGER,
    readMaxBytes: 32 * 1024 * 1024,
    writeMaxBytes: 32 * 1024 * 1024,
  });
}

/** What fetch has unpacked must not look packed to Connect. */
async function fetchDecoded(...request: Parameters<typeof fetch>): Promise<Response> {
  const { status, headers, body } = await fetch(...request);
  const decoded = new Headers(headers);
  decoded.delete("content-encoding");
  return new Response(body, { status, headers: decoded });
}
