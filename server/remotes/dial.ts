/** Ways to a remote: WebRTC wherever there is signalling, or its own port. */
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { CloudCredentials } from "../../shared/cloud/auth/cloud_credentials.ts";
import { CloudConnection } from "../../shared/cloud/client/connection.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import { forwardChannelOver } from "../../shared/rpc/client/forward.ts";
import { DataChannelCalls } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import { reasonOf } from "../resources/graph/errors.ts";
import { dialDirect } from "./dial_direct.ts";
import { DialError, dialErrorText } from "./dial_error.ts";
import type { RemoteLink, Way } from "./remote_link.ts";
import { isCloudName, type RemoteSettings } from "./remote_settings.ts";

/** From the offer to the open connection. */
const WEBRTC_MS = 10_000;

export interface CloudSignaling {
  readonly appAddress: string;
  /** Of this machine; for remotes without `auth`, as the other parts of a machine are. */
  readonly credentials: CloudCredentials;
}

export interface DialOptions {
  /** `-webrtc`: by WebRTC wherever there is signalling; otherwise directly. */
  readonly webrtc: boolean;
  /** `-allow-insecure-creds` */
  readonly allowInsecure: boolean;
  /** Where this machine's cloud signals, and as whom; undefined without a cloud. */
  readonly cloudSignaling: () => CloudSignaling | undefined;
  readonly peers: () => Promise<RtcPeers>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Connects to a remote.
 *
 * @throws {DialError | ConnectError} why it cannot be reached; the signal's reason
 */
export async function dialRemote(
  settings: RemoteSettings,
  options: DialOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const cloud = options.webrtc && isCloudName(settings.host) ? options.cloudSignaling() : undefined;
  if (cloud === undefined) return await dialOwnPort(settings, options, signal);
  let throughCloud: unknown;
  try {
    return await dialThroughCloud(cloud, settings, options, signal);
  } catch (error) {
    signal.throwIfAborted();
    throughCloud = error;
  }
  try {
    return await dialOwnPort(settings, options, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (isUnknownHost(throughCloud)) throw error;
    throw new DialError(
      `through the cloud: ${reasonOf(throughCloud)}; directly: ${dialErrorText(error, settings)}`,
      { cause: throughCloud },
    );
  }
}

async function dialThroughCloud(
  { appAddress, credentials: own }: CloudSignaling,
  settings: RemoteSettings,
  options: DialOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const { allowInsecure, log } = options;
  const credentials = settings.credentials ?? own;
  const connection = CloudConnection.open({ appAddress, credentials, allowInsecure, log });
  try {
    const way = "webrtc through the cloud";
    return await overWebRtc(connection.transport, way, settings, options, signal);
  } finally {
    connection.close();
  }
}

async function dialOwnPort(
  settings: RemoteSettings,
  options: DialOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const direct = await dialDirect(settings, options, signal);
  if (!options.webrtc) return direct;
  try {
    const link = await overWebRtc(direct.channel.transport, "webrtc", settings, options, signal);
    direct.close();
    return link;
  } catch (error) {
    if (signal.aborted) {
      direct.close();
      throw signal.reason;
    }
    if (!isUnknownHost(error)) {
      options.log.info(
        `remote ${settings.name} cannot be reached over WebRTC (${reasonOf(error)}); it is ` +
          "connected directly",
      );
    }
    return direct;
  }
}

async function overWebRtc(
  signaling: Transport,
  way: Way,
  { host }: RemoteSettings,
  { clock, peers }: DialOptions,
  signal: AbortSignal,
): Promise<RemoteLink> {
  const peer = await callPeer({
    client: createClient(SignalingService, signaling),
    host,
    peers: await peers(),
    timeoutMs: WEBRTC_MS,
    clock,
    signal,
  });
  const channel = forwardChannelOver(new DataChannelCalls(peer.channel));
  return {
    channel,
    way,
    ended: peer.closed,
    close() {
      channel.close();
      void peer.close();
    },
  };
}

/** What signallers answer that do not know the host, and servers without signalling. */
function isUnknownHost(error: unknown): boolean {
  const { code, rawMessage } = ConnectError.from(error);
  return code === Code.Unimplemented ||
    (code === Code.InvalidArgument && rawMessage.includes("host not preconfigured"));
}
