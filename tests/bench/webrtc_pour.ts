import { HIGH_WATER_BYTES, type MessageChannel } from "../../shared/rtc/webrtc/channel.ts";

const FRAME_BYTES = 60_000;

/** Sends so many bytes and more, as fast as the channel takes them. */
export async function pour(channel: MessageChannel, bytes: number): Promise<void> {
  const frame = new Uint8Array(FRAME_BYTES);
  for (let left = bytes; left > 0; left -= frame.length) {
    channel.send(frame);
    if (channel.bufferedBytes < HIGH_WATER_BYTES) continue;
    await new Promise<void>((resolve) => channel.onDrained = resolve);
  }
}

/** Resolves when so many bytes have come. */
export function drain(channel: MessageChannel, bytes: number): Promise<void> {
  let left = bytes;
  return new Promise((resolve, reject) => {
    channel.onClosed = (reason) => reject(new Error(`the connection ended: ${reason}`));
    channel.onMessage = ({ length }) => {
      left -= length;
      if (left <= 0) resolve();
    };
  });
}
