/** A UDP socket in the form that werift wants. */
import { Buffer } from "node:buffer";
import { createSocket, type Socket, type SocketOptions } from "node:dgram";
import { lookup } from "node:dns";
import { type AddressInfo, isIPv4 } from "node:net";
import type { Transport } from "werift";
import { MAX_DATAGRAM_BYTES } from "./data_channel_sdp.ts";

/** Deno takes this much memory for each datagram it reads; none of other peers is longer. */
const DATAGRAM_BYTES = 2048;

/** Node's own looks each time, and takes a tick, also for what is an address. */
const resolve: SocketOptions["lookup"] = (host, options, done) => {
  if (isIPv4(host)) done(null, host, 4);
  else lookup(host, options, done);
};

/**
 * werift's own socket ends the process where a socket cannot be opened or read: it has no listener
 * for errors.
 */
export class UdpSocket implements Transport {
  readonly type = "udp";
  readonly addressFamily = 4;
  closed = false;
  onData: (data: Buffer, from: readonly [string, number]) => void = () => {};
  readonly #socket: Socket;
  #sending = 0;
  #allSent: () => void = () => {};
  readonly address: AddressInfo;

  private constructor(socket: Socket) {
    this.#socket = socket;
    this.address = socket.address();
    takeDatagrams(socket, DATAGRAM_BYTES);
    socket.on("message", (data, { address, port }) => {
      if (!this.closed) this.onData(data, [address, port]);
    });
  }

  /**
   * Opens a socket on a free port of all IPv4 addresses.
   *
   * @throws Error of the system.
   */
  static open(): Promise<UdpSocket> {
    const socket = createSocket({ type: "udp4", lookup: resolve });
    return new Promise((resolve, reject) => {
      socket.on("error", reject);
      socket.bind({ address: "0.0.0.0", port: 0 }, () => resolve(new UdpSocket(socket)));
    });
  }

  /** Takes datagrams of {@link MAX_DATAGRAM_BYTES}, too. */
  takeLarge(): void {
    if (!this.closed) takeDatagrams(this.#socket, MAX_DATAGRAM_BYTES);
  }

  /** Sends a datagram; what cannot be sent is lost, as it may be on its way. */
  send = (data: Buffer, to?: readonly [string, number]): Promise<void> => {
    if (this.closed || !to) return Promise.resolve();
    this.#sending++;
    this.#socket.send(data, to[1], to[0], this.#sent);
    return Promise.resolve();
  };

  /** Closes when what was sent has left: the last datagrams say goodbye. */
  close = (): Promise<void> => {
    if (this.closed) return Promise.resolve();
    this.closed = true;
    return new Promise((resolve) => {
      this.#allSent = () => this.#socket.close(() => resolve());
      if (this.#sending === 0) this.#allSent();
    });
  };

  readonly #sent = (): void => {
    if (--this.#sending === 0) this.#allSent();
  };
}

/** What is longer would be cut off. As Linux does, Deno may take twice what it is given. */
function takeDatagrams(socket: Socket, bytes: number): void {
  socket.setRecvBufferSize(bytes / 2);
  if (socket.getRecvBufferSize() < bytes) socket.setRecvBufferSize(bytes);
}
