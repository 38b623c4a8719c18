/** The rig's machine, called through its cloud. */
import { createClient } from "@connectrpc/connect";
import { systemClock } from "../../shared/base/time/clock.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { RobotService } from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createDataChannelTransport } from "../../shared/rpc/data_channel/transport.ts";
import { callPeer } from "../../shared/rtc/signaling/caller.ts";
import { weriftPeers } from "../../shared/rtc/webrtc/werift_peers.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import type { Rig } from "./rig.ts";

/** Calls the machine as SDKs do. @param key of somebody; left out: that of the owner */
export async function dialThroughCloud(
  rig: Rig,
  key?: { readonly id: string; readonly key: string },
) {
  const cloud = key ? await signIn(rig.cloudUrl, key) : await rig.cloud();
  const stop = new AbortController();
  const peer = await callPeer({
    client: cloud.client(SignalingService),
    host: rig.bootstrapped.fqdn,
    peers: weriftPeers({ clock: systemClock, log: memoryLogger("test") }),
    signal: stop.signal,
  });
  const transport = createDataChannelTransport(peer.channel);
  return {
    peer,
    auth: createClient(AuthService, transport),
    sensor: createClient(SensorService, transport),
    robot: createClient(RobotService, transport),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await peer.close();
    },
  };
}
