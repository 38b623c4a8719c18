/** `proto.stream.v1.StreamService`: video of cameras, as tracks of the caller's own connection. */
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { RtcPeer } from "../../../shared/rtc/webrtc/peer.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { VideoHub, VideoHubOptions } from "../video/video_hub.ts";
import { rtcPeerKey } from "./served_peers.ts";

/** What the service needs. */
export interface StreamServiceOptions {
  readonly resources: Pick<ResourceManager, "ready" | "index">;
  readonly clock: Clock;
  readonly log: Logger;
  /** Default: the ffmpeg of this host. */
  readonly start?: VideoHubOptions["start"];
}

/** The service, and what ends all videos. */
export interface Streams {
  readonly service: Partial<ServiceImpl<typeof StreamService>>;
  close(): Promise<void>;
}

/** A track of a connection; the promise is there from the call on. */
type Tracks = Map<string, Promise<() => void>>;

const CAMERA_API = "rdk:component:camera";

/** Nothing is loaded before the first call that is about a video. */
export function createStreamService(options: StreamServiceOptions): Streams {
  const { resources, clock, log, start } = options;
  const perPeer = new WeakMap<RtcPeer, Tracks>();
  let loading: Promise<VideoHub> | undefined;
  const hub = () =>
    loading ??= import("../video/video_hub.ts").then(({ VideoHub }) =>
      new VideoHub({ camera, clock, log, ...(start && { start }) })
    );
  const cameras = () =>
    [...resources.ready()].filter(({ api }) => api === CAMERA_API).map(({ name }) => name).sort();
  const camera = (name: string): Resource => {
    const found = resources.index.find(CAMERA_API, name);
    if (found?.instance) return found.instance;
    if (found) {
      const reason = found.error || `it is ${found.state}`;
      throw new ConnectError(`camera ${name} is not available: ${reason}`, Code.Unavailable);
    }
    throw new ConnectError(
      `there is no camera ${JSON.stringify(name)}; there are: ${cameras().join(", ") || "none"}`,
      Code.NotFound,
    );
  };
  /** SDKs write `+` for the `:` behind a remote's name. */
  const nameOf = (asked: string): string => {
    const plain = asked.replaceAll("+", ":");
    const known = resources.index.find(CAMERA_API, asked) ? asked : plain;
    camera(known);
    return resources.index.wholeName(CAMERA_API, known);
  };
  const tracksOf = (peer: RtcPeer): Tracks => {
    const known = perPeer.get(peer);
    if (known) return known;
    const tracks: Tracks = new Map();
    perPeer.set(peer, tracks);
    void peer.closed.then(() => {
      for (const track of tracks.values()) void track.then((remove) => remove(), () => {});
      tracks.clear();
    });
    return tracks;
  };
  const add = async (peer: RtcPeer, name: string, onEnd: () => void): Promise<() => void> => {
    if (!peer.addVideo) throw noConnection();
    const videos = await hub();
    const codecs = await videos.codecs(name);
    videos.checkRoom();
    const track = await peer.addVideo({ streamId: streamIdOf(name), codecs });
    try {
      const stopViewing = videos.view(name, track, () => {
        onEnd();
        track.remove();
      });
      return () => {
        stopViewing();
        track.remove();
      };
    } catch (error) {
      track.remove();
      throw error;
    }
  };
  const begin = (peer: RtcPeer, tracks: Tracks, name: string): Promise<() => void> => {
    // Another one may have taken its place.
    const leave = () => {
      if (tracks.get(name) === track) tracks.delete(name);
    };
    const track = add(peer, name, leave);
    tracks.set(name, track);
    track.catch(leave);
    return track;
  };
  return {
    service: {
      listStreams: () => ({ names: cameras() }),
      async addStream({ name: asked }, context) {
        const peer = peerOf(context);
        const name = nameOf(asked);
        const tracks = tracksOf(peer);
        await (tracks.get(name) ?? begin(peer, tracks, name));
        return {};
      },
      async removeStream({ name: asked }, context) {
        const tracks = tracksOf(peerOf(context));
        const name = tracks.has(asked) ? asked : asked.replaceAll("+", ":");
        const whole = tracks.has(name) ? name : resources.index.wholeName(CAMERA_API, name);
        // What was never added is gone already.
        const track = tracks.get(whole);
        tracks.delete(whole);
        (await track?.catch(() => undefined))?.();
        return {};
      },
      async getStreamOptions({ name }) {
        const own = nameOf(name);
        return { resolutions: await (await hub()).sizes(own) };
      },
      async setStreamOptions({ name, resolution }) {
        const own = nameOf(name);
        await (await hub()).setSize(own, resolution);
        return {};
      },
    },
    close: async () => await (await loading)?.close(),
  };
}

/** The name as SDKs look for it, without spaces: they would end it in the description. */
function streamIdOf(name: string): string {
  return name.replaceAll(":", "+").replaceAll(/\s/g, "_");
}

function peerOf(context: HandlerContext): RtcPeer {
  const peer = context.values.get(rtcPeerKey);
  if (peer?.addVideo) return peer;
  throw noConnection();
}

function noConnection(): ConnectError {
  return new ConnectError(
    "video goes over a WebRTC connection, and this call came without one; connect by WebRTC, or " +
      "request images with viam.component.camera.v1.CameraService/GetImages",
    Code.FailedPrecondition,
  );
}
