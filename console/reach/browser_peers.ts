/** WebRTC connections of the browser, as `shared/rtc` expects them. */
import { Code, ConnectError } from "@connectrpc/connect";
import {
  LOW_WATER_BYTES,
  MAX_FRAME_BYTES,
  type MessageChannel,
} from "../../shared/rtc/webrtc/channel.ts";
import { refusal } from "../../shared/rpc/reasons.ts";
import { VideoStreams } from "./video_streams.ts";
import type { IceCandidate, RtcOptions, RtcPeer, RtcPeers } from "../../shared/rtc/webrtc/peer.ts";

/** A connection whose way can be requested. */
export interface BrowserPeer extends RtcPeer {
  readonly connection: RTCPeerConnection;
  readonly videos: VideoStreams;
}

/** Makes connections by the browser's `RTCPeerConnection`; it only calls, so it never answers. */
export const browserPeers: RtcPeers & {
  offer(options: RtcOptions): Promise<
    { peer: BrowserPeer; sdp: string; accept(answerSdp: string): Promise<void> }
  >;
} = {
  answer: () => Promise.reject(new ConnectError("a browser only calls", Code.Unimplemented)),
  async offer(options) {
    const connection = new RTCPeerConnection({
      iceServers: options.iceServers.map((server) => ({ ...server })),
    });
    const peer = new Peer(connection, options);
    try {
      await connection.setLocalDescription(await connection.createOffer());
      if (!options.trickle) await gathered(connection);
      return {
        peer,
        sdp: connection.localDescription?.sdp ?? "",
        accept: (sdp) => connection.setRemoteDescription({ type: "answer", sdp }),
      };
    } catch (error) {
      await peer.close();
      throw error;
    }
  },
};

function gathered(connection: RTCPeerConnection): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (connection.iceGatheringState === "complete") resolve();
    };
    connection.addEventListener("icegatheringstatechange", look);
    look();
  });
}

class Peer implements BrowserPeer {
  readonly channel: Channel;
  readonly videos: VideoStreams;
  readonly opened: Promise<void>;
  readonly closed: Promise<string>;
  readonly #settleClosed: (reason: string) => void;
  readonly #rejectOpened: (error: ConnectError) => void;
  /** Found before somebody listens. */
  readonly #early: (IceCandidate | undefined)[] = [];
  #take: ((candidate: IceCandidate | undefined) => void) | undefined;
  #isOver = false;

  constructor(readonly connection: RTCPeerConnection, options: RtcOptions) {
    const opened = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<string>();
    this.opened = opened.promise;
    this.opened.catch(() => undefined);
    this.closed = closed.promise;
    this.#settleClosed = closed.resolve;
    this.#rejectOpened = opened.reject;
    const data = connection.createDataChannel("data", { negotiated: true, id: 0, ordered: true });
    this.videos = new VideoStreams(connection);
    this.channel = new Channel(data, () => this.#end("the other side closed"));
    data.addEventListener("open", () => opened.resolve());
    connection.addEventListener("icecandidate", ({ candidate }) => {
      if (options.trickle) this.#found(candidate);
    });
    connection.addEventListener("connectionstatechange", () => {
      if (connection.connectionState === "failed") {
        const reason = "there is no way to the machine";
        this.#end(reason, refusal("NO_CONNECTION", {}, `WebRTC: ${reason}`, Code.Unavailable));
      }
      if (connection.connectionState === "closed") this.#end("closed");
    });
    options.signal.addEventListener("abort", () => this.#end("closed"), { once: true });
    if (options.signal.aborted) this.#end("closed");
  }

  set onCandidate(take: (candidate: IceCandidate | undefined) => void) {
    this.#take = take;
    for (const candidate of this.#early.splice(0)) take(candidate);
  }

  async addCandidate(candidate: IceCandidate): Promise<void> {
    try {
      const { sdpMid = null, sdpMLineIndex = null, usernameFragment = null } = candidate;
      await this.connection.addIceCandidate({
        ...{ candidate: candidate.candidate, sdpMid, sdpMLineIndex, usernameFragment },
      });
    } catch (error) {
      throw new ConnectError(String(error), Code.InvalidArgument);
    }
  }

  close(): Promise<void> {
    this.#end("closed");
    return Promise.resolve();
  }

  #found(candidate: RTCIceCandidate | null): void {
    const found = candidate === null || candidate.candidate === "" ? undefined : {
      candidate: candidate.candidate,
      ...(candidate.sdpMid !== null && { sdpMid: candidate.sdpMid }),
      ...(candidate.sdpMLineIndex !== null && { sdpMLineIndex: candidate.sdpMLineIndex }),
      ...(candidate.usernameFragment !== null &&
        { usernameFragment: candidate.usernameFragment }),
    };
    if (this.#take) this.#take(found);
    else this.#early.push(found);
  }

  #end(
    reason: string,
    failure = new ConnectError(`WebRTC: ${reason}`, Code.Unavailable),
  ): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#rejectOpened(failure);
    this.channel.ended(reason);
    this.connection.close();
    this.#settleClosed(reason);
  }
}

class Channel implements MessageChannel {
  onDrained: () => void = () => undefined;
  onClosed: (reason: string) => void = () => undefined;
  readonly #early: Uint8Array[] = [];
  readonly #unsent: Uint8Array<ArrayBuffer>[] = [];
  #take: ((bytes: Uint8Array) => void) | undefined;
  #isOver = false;

  constructor(private readonly data: RTCDataChannel, private readonly close_: () => void) {
    data.binaryType = "arraybuffer";
    data.bufferedAmountLowThreshold = LOW_WATER_BYTES;
    data.addEventListener("open", () => {
      for (const bytes of this.#unsent.splice(0)) data.send(bytes);
    });
    data.addEventListener("bufferedamountlow", () => this.onDrained());
    data.addEventListener("message", ({ data: message }: MessageEvent<ArrayBuffer>) => {
      const bytes = new Uint8Array(message);
      if (this.#take) this.#take(bytes);
      else this.#early.push(bytes);
    });
    data.addEventListener("close", close_);
  }

  set onMessage(take: (bytes: Uint8Array) => void) {
    this.#take = take;
    for (const bytes of this.#early.splice(0)) take(bytes);
  }

  get bufferedBytes(): number {
    return this.data.bufferedAmount;
  }

  send(bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.length > MAX_FRAME_BYTES) {
      throw new ConnectError("the message is too long", Code.InvalidArgument);
    }
    if (this.data.readyState === "connecting") return void this.#unsent.push(bytes);
    if (this.data.readyState !== "open") {
      throw new ConnectError("the data channel is closed", Code.Unavailable);
    }
    this.data.send(bytes);
  }

  close(): void {
    this.close_();
  }

  /** The connection is over. */
  ended(reason: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.onClosed(reason);
  }
}

/** Whether a connection goes straight to the machine or by a TURN server; undefined: not known. */
export async function wayOf(
  connection: RTCPeerConnection,
): Promise<"direct" | "relay" | undefined> {
  const stats = await connection.getStats();
  let pairId: string | undefined;
  stats.forEach((entry: { type: string; selectedCandidatePairId?: string }) => {
    if (entry.type === "transport") pairId = entry.selectedCandidatePairId ?? pairId;
  });
  if (pairId === undefined) return undefined;
  const pair = stats.get(pairId) as
    | { localCandidateId: string; remoteCandidateId: string }
    | undefined;
  if (!pair) return undefined;
  const types = [pair.localCandidateId, pair.remoteCandidateId].map((id) =>
    (stats.get(id) as { candidateType?: string } | undefined)?.candidateType
  );
  return types.includes("relay") ? "relay" : "direct";
}
