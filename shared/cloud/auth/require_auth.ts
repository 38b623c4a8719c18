import { Code, type ConnectError } from "@connectrpc/connect";
import type { Call, Interceptor } from "../../rpc/server/interceptor.ts";
import { OPEN_MESSAGE_BYTES } from "../../rpc/client/limits.ts";
import { type Identity, identityKey } from "./identity.ts";
import { refusal } from "../../rpc/reasons.ts";

export interface RequireAuthenticationOptions {
  /** Whose token it is; throws UNAUTHENTICATED when it does not count (any more). */
  readonly verify: (token: string) => Identity | Promise<Identity>;
  /** The token of a call without an authorization header; default: there is none. */
  readonly ambientToken?: (call: Call) => string | undefined;
  /** Paths (`/package.Service/Method`) that need no token. */
  readonly exempt?: (path: string, call: Call) => boolean;
}

/** What needs no token anywhere: getting one, and the health of the process. */
export function isOpenToAll(path: string): boolean {
  return path === "/proto.rpc.v1.AuthService/Authenticate" ||
    path.startsWith("/grpc.health.v1.Health/");
}

/**
 * Lets only calls with a good `authorization: Bearer` token in, and puts their identity at
 * `identityKey`. Messages of calls that need none are short: {@link OPEN_MESSAGE_BYTES}.
 */
export function requireAuthentication(options: RequireAuthenticationOptions): Interceptor {
  const exempt = options.exempt ?? isOpenToAll;
  return {
    before(call) {
      if (exempt(call.path, call)) return call.limitMessages?.(OPEN_MESSAGE_BYTES);
      const header = call.header("authorization");
      const ambient = header === undefined ? options.ambientToken?.(call) : undefined;
      const [scheme, token, ...rest] = ambient === undefined
        ? header?.split(" ") ?? []
        : ["bearer", ambient];
      if (scheme?.toLowerCase() !== "bearer" || !token || rest.length > 0) throw missing();
      const identity = options.verify(token);
      if (identity instanceof Promise) {
        return identity.then((identity) => void call.values.set(identityKey, identity));
      }
      call.values.set(identityKey, identity);
    },
  };
}

function missing(): ConnectError {
  return refusal(
    "SESSION_OVER",
    {},
    "authentication required: send an access token as `authorization: Bearer …`",
    Code.Unauthenticated,
  );
}
