import jpeg from "jpeg-js";
import assert from "node:assert/strict";
import { runPython } from "../e2e/python_sdk.ts";
import { rigTest } from "../e2e/rig.ts";
import { startFakes } from "./fakes_rig.ts";

/** What `fakes_tour.py` found, by section. */
type Found = Record<string, Record<string, unknown>>;

rigTest("the published Python SDK finds every fake to be what it is meant to be", async (rig) => {
  await startFakes(rig);
  const found = await tour(`127.0.0.1:${rig.serverPort}`);
  const errors = Object.values(found).flatMap(({ error }) => error ?? []);
  assert.deepEqual(errors, [], errors.join("\n"));

  assertArm(found);
  assertFrames(found["frames"]!);
  assertCamera(found["camera"]!);
  assertMoving(found);
  assertMeasuring(found);
  assertPins(found);
  assertSound(found);
  assertServices(found);
});

async function tour(address: string): Promise<Found> {
  const { stdout } = await runPython(new URL("fakes_tour.py", import.meta.url), [address]);
  // The SDK's native library writes its own log to standard output before.
  const [last = ""] = new TextDecoder().decode(stdout).trim().split("\n").slice(-1);
  return JSON.parse(last) as Found;
}

function assertArm({ arm }: Found): void {
  const { kinematics, end, too_many, ...rest } = arm!;
  assert.deepEqual(rest, {
    before: { values: [0] },
    moved: { values: [45] },
    moving: false,
    stopped: null,
  });
  const { x = 0, y, theta } = end as { x?: number; y: number; theta: number };
  assert.ok(Math.abs(x) < 0.01 && Math.abs(y - 100) < 0.01 && Math.abs(theta - 90) < 0.01);
  assert.equal((kinematics as { joints: unknown[] }).joints.length, 1);
  assert.match(String(too_many), /INVALID_ARGUMENT.*2 joint positions/);
}

/** The arm has been moved to x 0, y 100 of its origin. */
function assertFrames(
  { frames, joints, arm, origin, cup, unknown }: Record<string, unknown>,
): void {
  assert.deepEqual(frames, ["base", "arm", "table"]);
  assert.deepEqual(joints, [0, 1, 0]);
  assertPlace(arm, { reference_frame: "world", x: 200, y: 1_100, z: 0 });
  assertPlace(origin, { reference_frame: "world", x: 200, y: 1_000, z: 0 });
  assertPlace(cup, { reference_frame: "arm_origin", x: -199, y: 0, z: 7 });
  assert.match(String(unknown), /NOT_FOUND.*there is no frame nobody/);
}

function assertPlace(
  found: unknown,
  { reference_frame, ...wanted }: { reference_frame: string; x: number; y: number; z: number },
): void {
  const { pose, ...frame } = found as { pose: Partial<Record<"x" | "y" | "z", number>> };
  assert.deepEqual(frame, { reference_frame });
  const { x = 0, y = 0, z = 0 } = pose;
  const distance = Math.hypot(x - wanted.x, y - wanted.y, z - wanted.z);
  assert.ok(distance < 0.02, JSON.stringify(found));
}

function assertCamera(camera: Record<string, unknown>): void {
  const { image, captured, properties, no_source, points, ...rest } = camera;
  assert.deepEqual(rest, {
    mime_type: "image/jpeg",
    source: "color",
    size: [1280, 720],
    points_mime_type: "pointcloud/pcd",
  });
  assert.match(String(points), /POINTS 9216\n/);
  assert.match(String(no_source), /there is no source depth/);
  assert.ok(Math.abs(Number(captured) - Date.now() / 1_000) < 60);
  assert.equal((properties as { supports_pcd: boolean }).supports_pcd, true);
  const { data, width, height } = jpeg.decode(Uint8Array.fromBase64(String(image)));
  assert.deepEqual([width, height], [1280, 720]);
  const pixel = (at: number) => [...data.subarray(at * 4, at * 4 + 3)];
  assertColor(pixel(0), [255, 255, 0]);
  assertColor(pixel(width * height - 1), [0, 0, 255]);
}

/** JPEG changes colours a little. */
function assertColor(found: number[], wanted: number[]): void {
  const isNear = found.every((value, index) => Math.abs(value - wanted[index]!) <= 12);
  assert.ok(isNear, `found ${found}, not ${wanted}`);
}

function assertMoving({ base, gantry, gripper, motor, servo, switch: switched }: Found): void {
  assert.deepEqual(base, { width_meters: 0.6, moving: [false, true, false] });
  const { too_far, ...moved } = gantry!;
  assert.deepEqual(moved, { moved: [250], homed: [true, [0]], lengths: [1000], moving: false });
  assert.match(String(too_far), /reaches from 0 to 1000 mm/);
  assert.deepEqual(gripper, {
    inputs: [[100], [0], [30]],
    grabbed: false,
    holding: false,
    moving: false,
    joints: 1,
  });
  const { no_speed, ...turned } = motor!;
  assert.deepEqual(turned, {
    positions: [5, 2],
    powered: [true, 0.5],
    stopped: [false, 0],
    moving: false,
    reports: false,
  });
  assert.match(String(no_speed), /cannot move at 0 RPM/);
  assert.equal(servo!["position"], 120);
  assert.match(String(servo!["too_far"]), /0 to 180 degrees/);
  assert.equal(switched!["position"], 1);
  assert.match(String(switched!["too_far"]), /position 2 is out of range/);
}

function assertMeasuring(found: Found): void {
  const { movement_sensor, power_sensor, sensor, encoder, pose_tracker } = found;
  assert.deepEqual(movement_sensor, {
    place: [40.7, -73.98, 50.5],
    velocity: { y: 5.4 },
    acceleration: { x: 2.2, y: 4.5, z: 2 },
    turning: { z: 1 },
    compass: 25,
    orientation: { o_z: 1 },
    fix: 4,
    readings: {
      position: { latitude: 40.7, longitude: -73.98 },
      altitude: 50.5,
      linear_velocity: { y: 5.4 },
      linear_acceleration: { x: 2.2, y: 4.5, z: 2 },
      angular_velocity: { z: 1 },
      compass: 25,
      orientation: { o_z: 1 },
    },
  });
  assert.deepEqual(power_sensor, {
    voltage: [1.5, true],
    current: [2.2, true],
    power: 9.8,
    readings: { voltage: 1.5, current: 2.2, is_ac: true, power: 9.8 },
  });
  assert.deepEqual(sensor, { a: 1, b: 2, c: 3 });
  assert.deepEqual([encoder!["kind"], encoder!["ticks"]], [1, true]);
  assert.deepEqual(pose_tracker!["all"], ["body1", "body2"]);
  assert.deepEqual(pose_tracker!["one"], {
    body2: { reference_frame: "pose_tracker", pose: { x: 100, o_z: 1 } },
  });
}

function assertPins({ board, button, input_controller }: Found): void {
  const { edges, levels, status, missing, power_mode, ...rest } = board!;
  assert.deepEqual(rest, { high: true, pwm: [0.25, 1000], readings: [0, 1], written: 77 });
  assert.ok(Number(edges) >= 3, `${edges} edges`);
  const [first, second, third] = levels as boolean[];
  assert.deepEqual([second, third], [!first, first]);
  assert.deepEqual((status as Record<string, unknown>)["analogs"], { battery: 77 });
  assert.match(String(missing), /NOT_FOUND.*the board has battery/);
  assert.match(String(power_mode), /UNIMPLEMENTED.*SetPowerMode/);
  assert.deepEqual(button, { status: { pushes: 1 } });
  assert.deepEqual(input_controller, {
    controls: ["AbsoluteX", "ButtonStart"],
    events: ["AbsoluteX", "ButtonStart"],
    received: ["ButtonStart", "ButtonHold", 1],
  });
}

function assertSound({ audio_in, audio_out }: Found): void {
  const properties = {
    supported_codecs: ["pcm16", "pcm32", "pcm32_float"],
    sample_rate_hz: 44100,
    num_channels: 1,
  };
  assert.deepEqual(audio_in, {
    properties,
    bytes: [8820, 8820, 4410],
    sequence: [0, 1, 2],
    info: { codec: "pcm16", sample_rate_hz: 44100, num_channels: 1 },
  });
  const { unknown, ...rest } = audio_out!;
  assert.deepEqual(rest, { properties, status: { played_bytes: 130 } });
  assert.match(String(unknown), /codec wax is not known/);
}

function assertServices(found: Found): void {
  const { generic, discovery, slam, vision, world_state_store: store } = found;
  const command = { say: ["hello", { n: 1 }] };
  assert.deepEqual(generic, { component: command, service: command });
  assert.deepEqual(discovery, [
    ["fake1", "rdk:component:movement_sensor", "rdk:builtin:fake"],
    ["fake2", "rdk:component:camera", "rdk:builtin:fake"],
  ]);
  assert.match(String(slam!["map"]), /^VERSION \.7\n/);
  assert.ok(Number(slam!["chunks"]) > 1, "the map comes in pieces");
  const classification = { class_name: "a_classification", confidence: 0.85 };
  assert.deepEqual([vision!["classification"], vision!["of_image"]], [
    classification,
    classification,
  ]);
  assert.deepEqual(vision!["detection"], {
    ...{ class_name: "a_detection", confidence: 0.92 },
    ...{ x_min: "320", y_min: "180", x_max: "960", y_max: "540" },
    ...{ x_min_normalized: 0.25, y_min_normalized: 0.25 },
    ...{ x_max_normalized: 0.75, y_max_normalized: 0.75 },
  });
  assert.deepEqual(vision!["in_image"], vision!["detection"]);
  assert.deepEqual(vision!["everything"], [true, 1, 1]);
  assert.match(String(vision!["no_camera"]), /NOT_FOUND.*there is no camera "none"/);
  assert.deepEqual(store!["uuids"], ["box", "capsule", "sphere"]);
  assert.deepEqual(store!["changes"], [["sphere", 3], ["sphere", 3]]);
}
