/** Why a remote is not connected, with what to do. */
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../shared/base/errors/to_error.ts";
import type { RemoteSettings } from "./remote_settings.ts";

/** The text says all there is to say. */
export class DialError extends Error {
  override readonly name = "DialError";
}

/** The same, where only a change of a configuration helps. */
export class RefusedError extends DialError {}

/** True when another attempt soon is of no use, and may count as an attack. */
export function isRefused(error: unknown): boolean {
  if (error instanceof DialError) return error instanceof RefusedError;
  const { code } = ConnectError.from(error);
  return code === Code.Unauthenticated || code === Code.PermissionDenied ||
    code === Code.Unimplemented;
}

/** Status text of a remote whose connection failed with `error`. */
export function dialErrorText(
  error: unknown,
  { host, port, credentials }: Pick<RemoteSettings, "host" | "port" | "credentials">,
): string {
  if (error instanceof DialError) return error.message;
  const { code, rawMessage } = ConnectError.from(error);
  const words = shortened(error instanceof ConnectError ? rawMessage : toError(error).message);
  switch (code) {
    case Code.Unauthenticated:
    case Code.PermissionDenied:
      return credentials
        ? `it refuses the credentials (${words}); check auth.entity and auth.credentials of the ` +
          "remote"
        : "it lets nobody in who does not sign in; add auth with one of its API keys";
    case Code.Unimplemented:
      return `there is no machine server at ${host}:${port}, or one of another version (${words}); ` +
        "check the address";
    case Code.DeadlineExceeded:
      return `it does not answer in time (${words}); check the network between the two machines`;
    default:
      return /certificate|tls|handshake|UnknownIssuer|corrupt message/i.test(words)
        ? `TLS to ${host}:${port} failed (${words}); a machine without a certificate needs ` +
          '"insecure": true, one with its own authority needs that among the system\'s'
        : `${host}:${port} cannot be reached (${words}); check address, network and that it runs`;
  }
}

/** Longest text of a peer that is passed on, in characters. */
const LONGEST_TEXT = 300;

function shortened(text: string): string {
  return text.length <= LONGEST_TEXT ? text : `${text.slice(0, LONGEST_TEXT)} …`;
}
