/** Video that a machine sends over a connection of the browser. */
import { Code, ConnectError } from "@connectrpc/connect";

/** How long a track may be on its way after the machine has agreed. */
const TRACK_MS = 10_000;

/** Answers the offers that come over the channel "negotiation", and hands out their streams. */
export class VideoStreams {
  readonly #waiting = new Map<string, (stream: MediaStream) => void>();

  constructor(connection: RTCPeerConnection) {
    const channel = connection.createDataChannel("negotiation", {
      ...{ negotiated: true, id: 1, ordered: true },
    });
    channel.binaryType = "arraybuffer";
    channel.addEventListener("message", ({ data }: MessageEvent<string | ArrayBuffer>) => {
      const text = typeof data === "string" ? data : new TextDecoder().decode(data);
      void answer(connection, text).then(
        (reply) => {
          if (reply !== undefined && channel.readyState === "open") channel.send(reply);
        },
        // What cannot be read is the machine's mistake; waiting is aborted and it says so.
        () => undefined,
      );
    });
    connection.addEventListener("track", ({ streams: [stream] }) => {
      if (stream) this.#waiting.get(stream.id)?.(stream);
    });
  }

  /** The next stream of a camera that `begin` has the machine add. */
  async next(name: string, begin: () => Promise<unknown>): Promise<MediaStream> {
    const id = name.replaceAll(":", "+");
    const { promise, resolve, reject } = Promise.withResolvers<MediaStream>();
    promise.catch(() => undefined);
    this.#waiting.set(id, resolve);
    try {
      await begin();
      const timer = setTimeout(
        () => reject(new ConnectError("the machine sent no video", Code.DeadlineExceeded)),
        TRACK_MS,
      );
      return await promise.finally(() => clearTimeout(timer));
    } finally {
      if (this.#waiting.get(id) === resolve) this.#waiting.delete(id);
    }
  }
}

async function answer(connection: RTCPeerConnection, text: string): Promise<string | undefined> {
  const { type, sdp } = JSON.parse(atob(text)) as { type: RTCSdpType; sdp: string };
  await connection.setRemoteDescription({ type, sdp });
  if (type !== "offer") return undefined;
  await connection.setLocalDescription();
  const { localDescription } = connection;
  return btoa(JSON.stringify({ type: localDescription?.type, sdp: localDescription?.sdp }));
}
