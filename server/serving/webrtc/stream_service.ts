/** `proto.stream.v1.StreamService`: which cameras there are, and how their pictures are had here. */
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { StreamService } from "../../../shared/gen/proto/stream/v1/stream_pb.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";

const CAMERA_API = "rdk:component:camera";

/**
 * Lists the machine's cameras. Video tracks would need an encoder, which no machine is sure to
 * have; GetImages brings the same pictures one by one.
 */
export function createStreamService(
  resources: Pick<ResourceManager, "ready">,
): Partial<ServiceImpl<typeof StreamService>> {
  const cameras = () =>
    [...resources.ready()].filter(({ api }) => api === CAMERA_API).map(({ name }) => name).sort();
  const noTrack = (name: string): never => {
    if (!cameras().includes(name)) {
      throw new ConnectError(
        `there is no camera ${JSON.stringify(name)}; there are: ${cameras().join(", ") || "none"}`,
        Code.NotFound,
      );
    }
    throw new ConnectError(
      `this server sends no video tracks; ask camera ${JSON.stringify(name)} for its pictures ` +
        "with viam.component.camera.v1.CameraService/GetImages",
      Code.Unimplemented,
    );
  };
  return {
    listStreams: () => ({ names: cameras() }),
    addStream: ({ name }) => noTrack(name),
    getStreamOptions: ({ name }) => noTrack(name),
    setStreamOptions: ({ name }) => noTrack(name),
    // What was never added is gone already.
    removeStream: () => ({}),
  };
}
