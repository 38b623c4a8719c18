/** Signalling at the machine's own port, for callers in its network and on the same host. */
import { createClient, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import {
  type CredentialType,
  type Identity,
  identityKey,
} from "../../../shared/cloud/auth/identity.ts";
import { SignalingService } from "../../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { peerKey } from "../../../shared/rpc/server/peer.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { Answerer } from "../../../shared/rtc/signaling/answerer.ts";
import type { AnsweredCall } from "../../../shared/rtc/signaling/answerer_options.ts";
import { CallQueue } from "../../../shared/rtc/signaling/call_queue.ts";
import type {
  SignalingAccess,
  SignalingCaller,
} from "../../../shared/rtc/signaling/signaling_access.ts";
import { signalingService } from "../../../shared/rtc/signaling/signaling_service.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { RtcPeer, RtcPeers } from "../../../shared/rtc/webrtc/peer.ts";
import type { RemoteCaller } from "./served_peers.ts";

/** What all names of the machine are to the queue. */
const THIS_MACHINE = "this machine";

export interface OwnSignalingOptions {
  /** Whether a name means this machine. */
  readonly isOurs: (host: string) => boolean;
  readonly peers: RtcPeers;
  accept(peer: RtcPeer, caller: RemoteCaller): void;
  readonly clock: Clock;
  readonly log: Logger;
  /** Random numbers in [0, 1). */
  readonly random: () => number;
}

export interface OwnSignaling {
  readonly service: ServiceImpl<typeof SignalingService>;
  close(): Promise<void>;
}

/** The machine answers at its own signaller as it does at its cloud's. */
export function ownSignaling(options: OwnSignalingOptions): OwnSignaling {
  const { isOurs, peers, accept, clock, log, random } = options;
  const queue = new CallQueue({ clock, uuid: () => crypto.randomUUID() });
  const access: SignalingAccess = {
    callable: (host, context) =>
      Promise.resolve(isOurs(host) ? { key: THIS_MACHINE, caller: callerOf(context) } : undefined),
    answering: (_hosts, context) =>
      Promise.resolve(
        context.values.get(peerKey).transport === "in-process"
          ? { keys: [THIS_MACHINE], opened: () => () => {}, check: () => Promise.resolve() }
          : undefined,
      ),
  };
  // In one network the two find each other without any server's help.
  const service = signalingService({ queue, access, iceServers: () => [], clock });
  const inside = new RpcRouter().service(SignalingService, service);
  const answerer = new Answerer({
    client: createClient(SignalingService, createInProcessTransport(inside)),
    hosts: [THIS_MACHINE],
    peers,
    accept: (peer, call) => accept(peer, remoteCaller(call)),
    clock,
    log,
    random,
  });
  const stop = new AbortController();
  const running = answerer.run(stop.signal);
  return {
    service,
    async close() {
      stop.abort(new Error("the server is shutting down"));
      queue.close();
      await running;
    },
  };
}

/** Keys of what the queue carries from the call to its answer. */
const CREDENTIAL_TYPE = "credential_type";
const ADDRESS = "address";
const PORT = "port";
const CLAIM = "claim.";

function callerOf(context: HandlerContext): SignalingCaller {
  const identity = context.values.get(identityKey);
  const { address, port } = context.values.get(peerKey);
  const claims = Object.entries(identity?.claims ?? {})
    .map(([name, value]) => [`${CLAIM}${name}`, value]);
  return {
    owner: identity ? `${identity.credentialType} ${identity.entity}` : address,
    entity: identity?.entity ?? "",
    metadata: {
      [ADDRESS]: address,
      [PORT]: String(port),
      ...(identity && { [CREDENTIAL_TYPE]: identity.credentialType }),
      ...Object.fromEntries(claims),
    },
  };
}

function remoteCaller({ callerEntity, callerMetadata }: AnsweredCall): RemoteCaller {
  return {
    identity: identityFrom(callerEntity, callerMetadata),
    address: callerMetadata[ADDRESS] ?? "",
    port: Number(callerMetadata[PORT] ?? 0),
    signaledBy: "own port",
  };
}

function identityFrom(
  entity: string,
  metadata: AnsweredCall["callerMetadata"],
): Identity | undefined {
  const credentialType = metadata[CREDENTIAL_TYPE] as CredentialType | undefined;
  if (credentialType === undefined) return undefined;
  const claims = Object.entries(metadata).filter(([name]) => name.startsWith(CLAIM))
    .map(([name, value]) => [name.slice(CLAIM.length), value]);
  return { entity, credentialType, claims: Object.fromEntries(claims) };
}
