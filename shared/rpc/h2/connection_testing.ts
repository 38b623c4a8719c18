import { H2Connection } from "./connection.ts";
import { FakePeer, SeenAnswer } from "./fake_peer.ts";
import { Flag, FrameType } from "./frames.ts";
import type { HeaderBlock } from "./hpack_encoder.ts";
import type { H2Stream } from "./stream.ts";

const { settings, goaway } = FrameType;
/** Headers of a request. */
export const BLOCK: HeaderBlock = { repeated: [], others: [":method", "POST", ":path", "/a"] };

/** A connection to a peer that has said its settings, and a way to make requests. */
export class Connected implements Disposable {
  readonly peer = new FakePeer();
  readonly connection: H2Connection;

  constructor({ firstStreamId = 1, settings = [] as [1 | 3 | 4 | 5, number][] } = {}) {
    this.connection = new H2Connection({
      connect: () => Promise.resolve(this.peer),
      firstStreamId,
    });
    this.peer.settings(...settings);
  }

  /** Resolves when the settings count. */
  async ready(): Promise<this> {
    await this.peer.until(
      () => this.peer.frames(settings).some(({ flags }) => flags === Flag.ack),
      "the ACK",
    );
    return this;
  }

  request(
    bytes: Uint8Array = Uint8Array.of(1),
    { end = true }: { end?: boolean } = {},
  ): { answer: SeenAnswer; stream: H2Stream } {
    const answer = new SeenAnswer();
    const stream = this.connection.request(BLOCK, answer);
    stream.send(bytes, { end });
    return { answer, stream };
  }

  /** The reason that the peer gets when the connection is closed. */
  async goaway(): Promise<number> {
    const [frame] = await this.peer.untilFrames(goaway, 1);
    return frame!.payload[7]!;
  }

  [Symbol.dispose](): void {
    this.connection.close();
  }
}
