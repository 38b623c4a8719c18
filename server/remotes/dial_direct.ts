/** Reaches a remote at its own port, by TLS or plaintext. */
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { isLoopbackHost } from "../../shared/base/net/loopback.ts";
import type { CloudCredentials } from "../../shared/cloud/auth/cloud_credentials.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { type ForwardChannel, openForwardChannel } from "../../shared/rpc/client/forward.ts";
import { openTlsSocket } from "../../shared/rpc/h2/tls_socket.ts";
import { RefusedError } from "./dial_error.ts";
import type { RemoteLink } from "./remote_link.ts";
import { addressOf, type RemoteSettings } from "./remote_settings.ts";

/** Connecting, signing in and the first answer may each take this long. */
const STEP_MS = 5_000;

export interface DirectOptions {
  /** `-allow-insecure-creds` */
  readonly allowInsecure: boolean;
}

type Scheme = "http" | "https";

/**
 * Connects, signs in, and waits for the first answer.
 *
 * @throws {RefusedError | ConnectError} the signal's reason
 */
export async function dialDirect(
  settings: RemoteSettings,
  options: DirectOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const [first, second] = schemesOf(settings);
  try {
    return await dialBy(first, settings, options, signal);
  } catch (error) {
    // There may be somebody who speaks TLS; who refuses connections speaks nothing.
    if (second === undefined || signal.aborted || !isUnintelligible(error)) throw error;
    return await dialBy(second, settings, options, signal);
  }
}

/** On loopback nobody reads along, and most servers have no certificate. */
function schemesOf({ host, insecure, tls }: RemoteSettings): [Scheme, Scheme?] {
  if (insecure) return ["http"];
  return !tls && isLoopbackHost(host) ? ["http", "https"] : ["https"];
}

function isUnintelligible(error: unknown): boolean {
  return error instanceof ConnectError && error.code === Code.Unavailable &&
    !/refused|unreachable|resolve|lookup/i.test(error.message);
}

async function dialBy(
  scheme: Scheme,
  settings: RemoteSettings,
  { allowInsecure }: DirectOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const { host, credentials } = settings;
  const address = addressOf(settings, scheme);
  if (credentials && scheme === "http" && !allowInsecure && !isLoopbackHost(host)) {
    throw new RefusedError(
      `${address} is plaintext: the credentials could be read in transit; serve it with TLS, or ` +
        "start this server with -allow-insecure-creds",
    );
  }
  const headers: Record<string, string> = {};
  const channel = openForwardChannel({
    address,
    headers: () => headers,
    ...(scheme === "https" && { open: () => openTlsSocket(address, { timeoutMs: STEP_MS }) }),
  });
  try {
    const token = credentials && await signIn(channel, credentials, signal);
    if (token !== undefined) headers["authorization"] = `Bearer ${token}`;
    await createClient(RobotService, channel.transport).resourceNames(
      {},
      { signal, timeoutMs: STEP_MS },
    );
  } catch (error) {
    channel.close();
    throw error;
  }
  return {
    channel,
    way: scheme === "https" ? "tls" : "plaintext",
    ended: new Promise(() => {}),
    close: () => channel.close(),
  };
}

/** @returns undefined where nobody signs in. */
async function signIn(
  channel: ForwardChannel,
  { type, entity, payload }: CloudCredentials,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { accessToken } = await createClient(AuthService, channel.transport).authenticate(
      { entity, credentials: { type, payload: payload.reveal() } },
      { signal, timeoutMs: STEP_MS },
    );
    return accessToken;
  } catch (error) {
    if (ConnectError.from(error).code === Code.Unimplemented) return undefined;
    throw error;
  }
}
