/** One data channel over SCTP. */
import { Buffer } from "node:buffer";
import { Code, ConnectError } from "@connectrpc/connect";
import { LOW_WATER_BYTES, MAX_FRAME_BYTES, type MessageChannel } from "./channel.ts";
import { Inbox } from "./inbox.ts";

/** Kinds of payload (RFC 8831, 8). */
export const PayloadProtocol = {
  control: 50,
  text: 51,
  binary: 53,
  emptyText: 56,
  emptyBinary: 57,
} as const;

/** Of messages that came before somebody wanted them. */
const MOST_UNREAD_BYTES = 1024 * 1024;

type SendNow = (protocol: number, data: Uint8Array) => void;

/** The side of {@link MessageChannel} that SCTP sees. */
export class SctpChannel implements MessageChannel {
  onDrained: () => void = () => {};
  onClosed: (reason: string) => void = () => {};
  bufferedBytes = 0;
  readonly #onClose: (reason: string) => void;
  readonly #inbox = new Inbox<Uint8Array>();
  readonly #queue: { protocol: number; data: Uint8Array }[] = [];
  #unreadBytes = 0;
  #inSctpBytes = 0;
  #limit = MAX_FRAME_BYTES;
  #sendNow: SendNow | undefined;
  #mostInSctp = 0;
  #closed = false;

  /** @param onClose the user closed it, or it has to be closed, in words. */
  constructor(onClose: (reason: string) => void) {
    this.#onClose = onClose;
  }

  get onMessage(): (bytes: Uint8Array) => void {
    return this.#inbox.receiver;
  }

  set onMessage(receive: (bytes: Uint8Array) => void) {
    this.#inbox.receiver = receive;
    this.#unreadBytes = 0;
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length > 0) this.#put(PayloadProtocol.binary, bytes);
    else this.#put(PayloadProtocol.emptyBinary, new Uint8Array(1));
  }

  /** Sends a message as text, which is what the negotiation channel carries. */
  sendText(text: string): void {
    this.#put(PayloadProtocol.text, Buffer.from(text));
  }

  close(): void {
    if (!this.#closed) this.#onClose("closed");
  }

  /** The association is there, and takes about so many bytes at once. */
  open(limit: number, sendNow: SendNow, mostInSctp = 64 * 1024): void {
    this.#limit = limit;
    this.#mostInSctp = mostInSctp;
    this.#sendNow = sendNow;
    this.#pump();
  }

  /** So many bytes are on their way. */
  left(bytes: number): void {
    if (this.#closed) return;
    this.#inSctpBytes -= bytes;
    const before = this.bufferedBytes;
    this.bufferedBytes -= bytes;
    this.#pump();
    if (before > LOW_WATER_BYTES && this.bufferedBytes <= LOW_WATER_BYTES) this.onDrained();
  }

  /** A message of the peer. */
  arrive(bytes: Uint8Array): void {
    if (this.#closed) return;
    if (this.#inbox.isRead) return this.#inbox.put(bytes);
    this.#unreadBytes += bytes.length;
    // A copy: a short message must not keep its packet alive.
    if (this.#unreadBytes <= MOST_UNREAD_BYTES) this.#inbox.put(new Uint8Array(bytes));
    else this.#onClose(`more than ${MOST_UNREAD_BYTES} bytes came that nobody read`);
  }

  /** It is over, whoever ended it. */
  ended(reason: string): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#queue.length = 0;
    this.bufferedBytes = 0;
    this.onClosed(reason);
  }

  #put(protocol: number, data: Uint8Array): void {
    if (this.#closed) throw new ConnectError("the data channel is closed", Code.Unavailable);
    if (data.length > this.#limit) {
      throw new ConnectError(
        `a message of ${data.length} bytes is too long for the data channel; it takes ${this.#limit}`,
        Code.InvalidArgument,
      );
    }
    this.bufferedBytes += data.length;
    if (this.#sendNow && this.#queue.length === 0 && this.#inSctpBytes < this.#mostInSctp) {
      this.#inSctpBytes += data.length;
      return this.#sendNow(protocol, data);
    }
    this.#queue.push({ protocol, data });
  }

  #pump(): void {
    const sendNow = this.#sendNow;
    if (!sendNow) return;
    while (this.#inSctpBytes < this.#mostInSctp) {
      const next = this.#queue.shift();
      if (!next) return;
      this.#inSctpBytes += next.data.length;
      sendNow(next.protocol, next.data);
    }
  }
}
