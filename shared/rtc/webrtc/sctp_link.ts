/** The data channels between two peers (SCTP, RFC 8831), with the SCTP of werift. */
import { Buffer } from "node:buffer";
import { RTCSctpTransport } from "werift";
import { MAX_FRAME_BYTES } from "./channel.ts";
import { MAX_MESSAGE_BYTES } from "./data_channel_sdp.ts";
import { guardAssociation, type GuardedAssociation } from "./sctp_guard.ts";
import { PayloadProtocol, SctpChannel } from "./sctp_channel.ts";
import type { Association } from "./werift_internals.ts";

/** Streams of the two channels that both sides open without asking. */
export const StreamId = { data: 0, negotiation: 1 } as const;

// Inside a host nothing cuts packets up. Elsewhere werift's own size fits every usual path.
const SAME_HOST_MTU = 1400;
/** What DTLS adds to a packet, and more. */
const DTLS_BYTES = 64;
/** Bytes that SCTP has at once: all of it is looked at again with each packet, small or large. */
const IN_SCTP_BYTES = { small: 64 * 1024, large: 256 * 1024 };

const DONE = Promise.resolve();

/** What a link reports. */
export interface SctpEvents {
  /** A packet for the peer. */
  send(packet: Buffer): void;
  open(): void;
  /** It ended, in words. */
  ended(reason: string): void;
}

/** How a link is made. */
export interface SctpOptions {
  /** Begins the association; the peer answers. */
  isClient: boolean;
  /** Both ends are on this host. */
  sameHost: boolean;
  /** Seconds to the peer and back. */
  roundTripS: number;
  remotePort: number;
  /** Longest datagram that the peer takes inside a host; undefined: no longer than others. */
  datagramBytes?: number | undefined;
  /** Longest message the peer takes. */
  remoteMaxMessageBytes: number;
}

/** One association with its two channels. */
export class SctpLink {
  readonly #association: Association;
  readonly #events: SctpEvents;
  readonly #guarded: GuardedAssociation;
  readonly #channels: ReadonlyMap<number, SctpChannel>;
  readonly #remotePort: number;
  #ended = false;

  constructor(
    channels: ReadonlyMap<number, SctpChannel>,
    options: SctpOptions,
    events: SctpEvents,
  ) {
    this.#channels = channels;
    this.#events = events;
    this.#remotePort = options.remotePort;
    this.#association = makeAssociation(options, events);
    const end = (reason: string) => this.#end(reason);
    const isLarge = isLargePath(options);
    const { flow } = this.#guarded = guardAssociation(this.#association, {
      roundTripS: options.roundTripS,
      isLarge,
      send: events.send,
      left: (streamId, bytes) => channels.get(streamId)?.left(bytes),
      end,
    });
    this.#association.receive = (streamId, protocol, data) => {
      this.#deliver(streamId, protocol, data);
    };
    this.#association.onReconfigStreams.subscribe((streamIds) => {
      if (streamIds.includes(StreamId.data)) end("the data channel was closed by the peer");
    });
    this.#association.stateChanged.closed.subscribe(() => end("closed by the peer"));
    this.#association.stateChanged.connected.subscribe(() => {
      const limit = Math.min(MAX_FRAME_BYTES, options.remoteMaxMessageBytes);
      for (const [streamId, channel] of channels) {
        channel.open(
          limit,
          (protocol, data) => flow.send(streamId, protocol, data),
          isLarge ? IN_SCTP_BYTES.large : IN_SCTP_BYTES.small,
        );
      }
      events.open();
    });
    // One that waits for the peer answers from now on.
    if (!options.isClient) this.start();
  }

  /** Lets the client begin. */
  start(): void {
    this.#association.start(this.#remotePort).catch((error) => this.#end(String(error)));
  }

  /** Takes a packet of the peer. */
  receive(packet: Buffer): void {
    if (!this.#ended) this.#guarded.receive(packet);
  }

  /** Ends the association; the peer is notified. */
  async close(): Promise<void> {
    this.#ended = true;
    this.#guarded.flow.flush();
    await this.#association.stop().catch(() => {});
  }

  #deliver(streamId: number, protocol: number, data: Uint8Array): void {
    if (this.#ended) return;
    if (data.length > MAX_MESSAGE_BYTES) {
      return this.#end(
        `the peer sent a message of ${data.length} bytes; ${MAX_MESSAGE_BYTES} are allowed`,
      );
    }
    const isEmpty = protocol === PayloadProtocol.emptyBinary ||
      protocol === PayloadProtocol.emptyText;
    if (protocol !== PayloadProtocol.control) {
      this.#channels.get(streamId)?.arrive(isEmpty ? new Uint8Array() : data);
    }
  }

  #end(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.ended(reason);
  }
}

function isLargePath({ sameHost, datagramBytes }: SctpOptions): boolean {
  return sameHost && datagramBytes !== undefined;
}

/** An association without guards, and without a user. */
export function makeAssociation(
  options: SctpOptions,
  { send }: Pick<SctpEvents, "send">,
): Association {
  const { isClient, sameHost, datagramBytes = 0 } = options;
  const mtu = isLargePath(options) ? datagramBytes - DTLS_BYTES : SAME_HOST_MTU;
  const transport = new RTCSctpTransport(undefined, MAX_MESSAGE_BYTES, sameHost ? { mtu } : {});
  // All that it wants of its own DTLS.
  const dtls = {
    id: "",
    sendData: (packet: Buffer) => {
      send(packet);
      return Promise.resolve();
    },
    dataReceiver: () => {},
    onStateChange: { subscribe: () => ({ unSubscribe: () => {} }) },
  };
  transport.setDtlsTransport(dtls as unknown as Parameters<typeof transport.setDtlsTransport>[0]);
  const association = transport.sctp as unknown as Association;
  // werift's own user of it, who is called with each acknowledgement, too.
  association.onReceive.allUnsubscribe();
  association.onSackReceived = () => DONE;
  association.isServer = !isClient;
  return association;
}
