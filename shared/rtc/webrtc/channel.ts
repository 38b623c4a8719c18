/** What goes over WebRTC: one ordered, reliable data channel, message by message. */

/** Longest message that may be sent or received, in bytes: what every peer of the family takes. */
export const MAX_FRAME_BYTES = 65_535;
/** From here on a sender waits for {@link MessageChannel.onDrained}, in bytes. */
export const HIGH_WATER_BYTES = 256 * 1024;
/** {@link MessageChannel.onDrained} comes when no more than this waits, in bytes. */
export const LOW_WATER_BYTES = 64 * 1024;

/** One data channel. What is set on it is set by the one who uses it. */
export interface MessageChannel {
  /**
   * Hands a message over, which must not be changed afterwards; never blocks. Before the channel
   * is open messages are kept.
   *
   * @throws {ConnectError} UNAVAILABLE when the channel is closed; INVALID_ARGUMENT when the
   * message is longer than {@link MAX_FRAME_BYTES}.
   */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  /** Bytes handed over and not yet sent. */
  readonly bufferedBytes: number;
  /**
   * Called with each message, in order. What came before it was first set is delivered when it is
   * set. The bytes are the receiver's own.
   */
  onMessage: (bytes: Uint8Array) => void;
  /** {@link bufferedBytes} fell to {@link LOW_WATER_BYTES} or below. */
  onDrained: () => void;
  /** Called once, with the reason in words, whichever side closed; no message comes after it. */
  onClosed: (reason: string) => void;
  /** Closes; nothing can be sent from then on. Closing again does nothing. */
  close(): void;
}
