import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import jpeg from "jpeg-js";
import assert from "node:assert/strict";
import type { PoseTrackerService } from "../../../shared/gen/viam/component/posetracker/v1/pose_tracker_pb.ts";
import { SensorType, type SLAMService } from "../../../shared/gen/viam/service/slam/v1/slam_pb.ts";
import type { VideoService } from "../../../shared/gen/viam/service/video/v1/video_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { construct, testCall } from "../testing.ts";
import { fakePoseTrackerModel } from "./pose_tracker.ts";
import { fakeSlamModel } from "./slam.ts";
import { fakeVideoModel } from "./video.ts";
import { type FakeWorldStateStore, fakeWorldStateStoreModel } from "./world_state_store.ts";

const call = testCall();

async function collect<T>(values: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const value of values) found.push(value);
  return found;
}

Deno.test("getPoses() gives the bodies that are asked for, all when none is", async () => {
  const tracker = await construct<Driver<typeof PoseTrackerService>, unknown>(
    fakePoseTrackerModel,
    { bodies: ["cup", "plate"] },
  );
  const poses = async (bodyNames: string[]) => {
    const { bodyPoses } = await tracker.getPoses!({
      $typeName: "viam.component.posetracker.v1.GetPosesRequest",
      name: "t",
      bodyNames,
    }, call);
    return Object.keys(bodyPoses!);
  };
  assert.deepEqual(await poses([]), ["cup", "plate"]);
  assert.deepEqual(await poses(["plate", "fork"]), ["plate"]);
});

Deno.test("getPointCloudMap() gives the room in pieces that make one file", async () => {
  const slam = await construct<Driver<typeof SLAMService>, unknown>(fakeSlamModel);
  const chunks = await collect(slam.getPointCloudMap!({
    $typeName: "viam.service.slam.v1.GetPointCloudMapRequest",
    name: "s",
  }, call));
  assert.ok(chunks.length > 1);
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.pointCloudPcdChunk!.length, 0);
  const header = new TextDecoder("latin1").decode(chunks[0]!.pointCloudPcdChunk);
  const points = Number(/POINTS (\d+)/.exec(header)![1]);
  assert.equal(bytes, header.indexOf("DATA binary\n") + "DATA binary\n".length + points * 16);
});

Deno.test("getProperties() of the slam service names a sensor of each kind", async () => {
  const slam = await construct<Driver<typeof SLAMService>, unknown>(fakeSlamModel);
  const { sensorInfo } = await slam.getProperties!({
    $typeName: "viam.service.slam.v1.GetPropertiesRequest",
    name: "s",
  }, call);
  assert.deepEqual(sensorInfo, [
    { name: "camera", type: SensorType.CAMERA },
    { name: "movement_sensor", type: SensorType.MOVEMENT_SENSOR },
  ]);
});

Deno.test("getVideo() gives an image for each second that is asked for", async () => {
  const video = await construct<Driver<typeof VideoService>, unknown>(fakeVideoModel);
  const get = (startMs: number, endMs: number) =>
    collect(video.getVideo!({
      $typeName: "viam.service.video.v1.GetVideoRequest",
      name: "v",
      startTimestamp: timestampFromMs(startMs),
      endTimestamp: timestampFromMs(endMs),
      videoCodec: "",
      videoContainer: "",
      requestId: "r",
    }, call));
  const found = await get(0, 2_500);
  assert.equal(found.length, 3);
  assert.deepEqual([found[0]!.requestId, found[0]!.videoContainer], ["r", "mjpeg"]);
  assert.equal(jpeg.decode(found[0]!.videoData!).width, 320);
  await assert.rejects(get(1, 0), /end_timestamp lies before/);
});

Deno.test("streamTransformChanges() tells how the sphere moves, as getTransform() does", async () => {
  const clock = new FakeClock();
  const store = await construct<FakeWorldStateStore, unknown>(fakeWorldStateStoreModel({ clock }));
  const changes = collect(store.streamTransformChanges({}, call));
  await clock.advance(300);
  const uuid = new TextEncoder().encode("sphere");
  const { transform } = store.getTransform({ uuid });
  store.close();
  const found = await changes;
  assert.equal(found.length, 3);
  assert.deepEqual(found[2]!.transform, transform);
  assert.notEqual(transform.poseInObserverFrame.pose.x, 0);
  assert.equal(clock.pendingTimers, 0);
  assert.equal(store.listUUIDs().uuids.length, 3);
  assert.throws(
    () => store.getTransform({ uuid: new Uint8Array([120]) }),
    /no transform x; the store has box, sphere, capsule/,
  );
});
