/** A caller over WebRTC that answers the machine's offers of video as a test wants it to. */
import { Buffer } from "node:buffer";
import { createClient, type Transport } from "@connectrpc/connect";
import { RTCPeerConnection } from "werift";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { decodeSdp, encodeSdp } from "../../shared/rtc/signaling/sdp.ts";
import { RPC_HOST } from "../../shared/rtc/signaling/rpc_host.ts";
import type { MessageChannel } from "../../shared/rtc/webrtc/channel.ts";

/** A description as it goes over the channel "negotiation". */
export interface Description {
  readonly type: "offer" | "answer";
  readonly sdp: string;
}

export class HostileViewer implements AsyncDisposable {
  /** Of calls over the connection. */
  readonly transport: Transport;
  /** What the machine sent over the negotiation channel, in order. */
  readonly received: Description[] = [];
  /** Whether it takes the video that is offered. */
  takesVideo = true;

  private constructor(
    readonly peer: RTCPeerConnection,
    readonly sendRaw: (text: string) => void,
    onNegotiation: (receive: (text: string) => void) => void,
    channel: MessageChannel,
  ) {
    this.transport = createDataChannelTransport(channel);
    onNegotiation((text) => {
      const description = JSON.parse(Buffer.from(text, "base64").toString()) as Description;
      this.received.push(description);
      if (description.type === "offer" && this.takesVideo) this.send(this.answerTo(description));
    });
  }

  /** Connects by the signalling at the machine's own port. */
  static async dial(signaling: Transport, host: string): Promise<HostileViewer> {
    const peer = new RTCPeerConnection({ iceServers: [] });
    const data = peer.createDataChannel("data", { negotiated: true, id: 0 });
    const asking = peer.createDataChannel("negotiation", { negotiated: true, id: 1 });
    const channel: MessageChannel = {
      bufferedBytes: 0,
      send: (bytes) => data.send(Buffer.from(bytes)),
      onMessage: () => {},
      onDrained: () => {},
      onClosed: () => {},
      close: () => void peer.close(),
    };
    data.onMessage.subscribe((message) => channel.onMessage(Uint8Array.from(Buffer.from(message))));
    await peer.setLocalDescription(await peer.createOffer());
    await waitFor(() => peer.iceGatheringState === "complete", { deadlineMs: 60_000 });
    const to = { headers: { [RPC_HOST]: host } };
    const sdp = encodeSdp({ type: "offer", sdp: peer.localDescription!.sdp });
    const calling = createClient(SignalingService, signaling)
      .call({ sdp, disableTrickle: true }, to);
    for await (const { stage } of calling) {
      if (stage.case !== "init") continue;
      await peer.setRemoteDescription({ type: "answer", sdp: decodeSdp(stage.value.sdp).sdp });
      break;
    }
    await waitFor(() => data.readyState === "open" && asking.readyState === "open", {
      deadlineMs: 60_000,
    });
    return new HostileViewer(
      peer,
      (text) => asking.send(text),
      (receive) => void asking.onMessage.subscribe((text) => receive(String(text))),
      channel,
    );
  }

  /** What a browser answers that takes all video. */
  answerTo({ sdp }: Description): Description {
    return { type: "answer", sdp: this.asMine(sdp).replaceAll("a=sendonly", "a=recvonly") };
  }

  /** A description of the machine with this side's name in the place of the machine's. */
  asMine(sdp: string): string {
    const own = /a=ice-ufrag:(\S+)/.exec(this.peer.localDescription?.sdp ?? "")?.[1];
    return sdp.replaceAll(/a=ice-ufrag:\S+/g, `a=ice-ufrag:${own}`);
  }

  send(description: Description): void {
    this.sendRaw(Buffer.from(JSON.stringify(description)).toString("base64"));
  }

  /** Leaves without a word: nothing is read or answered any more. */
  async vanish(): Promise<void> {
    await Promise.all(this.peer.iceTransports.map(({ connection }) => connection.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.peer.close();
  }
}
