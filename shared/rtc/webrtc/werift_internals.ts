/**
 * What of werift 0.25.2 we use beyond its public types. Its classes are put together here without
 * its `RTCPeerConnection`, which gathers before it connects, asks Google's STUN server unasked, and
 * brings all of audio and video.
 */
import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import type {
  Candidate,
  CandidatePair,
  Connection,
  DtlsClient,
  DtlsServer,
  Message,
  Protocol,
  SignatureHash,
  Transport,
} from "werift";
import type { DataChunk, Sack } from "./sctp_packet.ts";

/** Its ICE agent, with what it does while it gathers on its own. */
export type IceConnection =
  & Pick<
    Connection,
    | "addRemoteCandidate"
    | "candidatePairs"
    | "close"
    | "connect"
    | "localCandidates"
    | "localPassword"
    | "localUsername"
    | "nominated"
    | "onData"
    | "remoteCandidates"
    | "send"
    | "setRemoteParams"
    | "state"
    | "stateChanged"
    | "userHistory"
  >
  & {
    protocols: Protocol[];
    /** Set when gathering began; `connect` wants it. */
    localCandidatesStart: boolean;
    /** Listens to what comes in by it. */
    ensureProtocol(protocol: Protocol): void;
    pairLocalProtocol(protocol: Protocol): void;
    appendLocalCandidate(candidate: Candidate): void;
    /** A check has ended; the first pair that was agreed on is `nominated` afterwards. */
    checkComplete(pair: CandidatePair): void;
    /** Begins to ask the peer whether it is still there; without, nothing is sent. */
    queryConsent(): void;
    setState(state: "connected"): void;
  };

/** Its STUN over one of our sockets. */
export type HostProtocol = Protocol & {
  transport: Transport;
  datagramReceived(data: Buffer, from: readonly [string, number]): void;
};

/** Its connection to a TURN server by TCP or TLS. */
export interface StreamTransport {
  readonly stream: { readonly client: Socket };
}

/** A handshake message, put together from its fragments. */
export interface Handshake {
  readonly msg_type: number;
  readonly message_seq: number;
  readonly fragment: Buffer;
  serialize(): Buffer;
}

/** Its DTLS, with the state of the handshake. */
export type Dtls =
  & Pick<DtlsClient | DtlsServer, "connected" | "onConnect" | "onError">
  & {
    onHandleHandshakes(messages: Handshake[]): Promise<void>;
    bufferFragmentedHandshakes: unknown[];
    dtls: {
      /** Number of the last flight; a flight is sent again while the next one has not come. */
      flight: number;
      /** What was sent last, for when it is lost. */
      lastMessage: readonly Buffer[];
      sortedHandshakeCache: readonly Handshake[];
    };
    srtp: { srtpProfile?: number };
    extractSessionKeys(keyBytes: number, saltBytes: number): {
      localKey: Buffer;
      localSalt: Buffer;
      remoteKey: Buffer;
      remoteSalt: Buffer;
    };
    cipher: {
      cipher?: {
        clientWriteKey?: Buffer;
        serverWriteKey?: Buffer;
        clientNonce?: Buffer;
        serverNonce?: Buffer;
      };
      localCert?: Buffer;
      localPrivateKey?: { sign(data: Buffer, hash: string): Buffer };
      signatureHashAlgorithm?: SignatureHash;
      signatureData(data: Buffer, hash: string): Buffer;
      remoteCertificate?: Buffer;
      masterSecret?: Buffer;
      localRandom?: { serialize(): Buffer };
      remoteRandom?: { serialize(): Buffer };
      remoteKeyPair?: { publicKey?: Buffer };
    };
  };

/** Its SCTP association. */
export interface Association {
  readonly state: string;
  readonly isStopped: boolean;
  isServer: boolean;
  rto: number;
  srtt?: number;
  rttvar?: number;
  readonly localPort: number;
  readonly remotePort: number;
  readonly localVerificationTag: number;
  readonly remoteVerificationTag: number;
  lastReceivedTsn: number;
  advertisedRwnd: number;
  sackNeeded: boolean;
  sackImmediate: boolean;
  sackMisOrdered: Set<number>;
  sackDuplicates: number[];
  sackTimeout?: ReturnType<typeof setTimeout>;
  inboundStreams: Record<
    number,
    { reassembly: readonly DataChunk[]; streamSequenceNumber: number }
  >;
  localTsn: number;
  flightSize: number;
  readonly cwnd: number;
  readonly peerRwnd: number;
  readonly fastRecoveryExit?: number;
  fastRecoveryTransmit: boolean;
  readonly outboundQueue: DataChunk[];
  readonly outboundStreamSeq: Record<number, number>;
  readonly sentQueue: DataChunk[];
  timer3Handle?: ReturnType<typeof setTimeout> | undefined;
  readonly stateChanged: Readonly<Record<"connected" | "closed", Listeners<[]>>>;
  readonly onReceive: { allUnsubscribe(): void };
  readonly onReconfigStreams: Listeners<[number[]]>;
  onSackReceived: () => Promise<void>;
  start(remotePort: number): Promise<void>;
  stop(): Promise<void>;
  send(streamId: number, protocol: number, data: Buffer): Promise<void>;
  handleData(packet: Buffer): Promise<void>;
  receive(streamId: number, protocol: number, data: Uint8Array): void;
  receiveDataChunk(chunk: DataChunk): void;
  receiveSackChunk(chunk: Sack): Promise<void>;
  markReceived(tsn: number): boolean;
  scheduleSack(): Promise<void>;
  updateRto(seconds: number): void;
  transmit(): Promise<void>;
  timer3Start(): void;
  timer3Restart(): void;
  timer3Cancel(): void;
  timer3Expired(): void;
  /** Longest data of a packet with one chunk. */
  readonly maxPayloadSize: number;
}

/** The part of its events that we use. */
export interface Listeners<Args extends unknown[]> {
  subscribe(listener: (...args: Args) => void): unknown;
}

export type { Candidate, Message, Protocol };
