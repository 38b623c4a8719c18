"""Goes through a machine's fake resources with the published Python SDK's clients.

Argument: the server's address (host:port), which lets everybody in and has no TLS. Writes one JSON
object to the last line of standard output: what each client found, or the error it met.
"""

import asyncio
import base64
import json
import sys
import traceback

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from viam.components.arm import Arm
from viam.components.audio_in import AudioIn
from viam.components.audio_out import AudioOut
from viam.components.base import Base
from viam.components.board import Board
from viam.components.button import Button
from viam.components.camera import Camera
from viam.components.encoder import Encoder
from viam.components.gantry import Gantry
from viam.components.generic import Generic
from viam.components.gripper import Gripper
from viam.components.input import Control, Controller, Event, EventType
from viam.components.motor import Motor
from viam.components.movement_sensor import MovementSensor
from viam.components.pose_tracker import PoseTracker
from viam.components.power_sensor import PowerSensor
from viam.components.sensor import Sensor
from viam.components.servo import Servo
from viam.components.switch import Switch
from viam.proto.common import AudioInfo, Pose, PoseInFrame, Transform, Vector3
from viam.proto.component.arm import JointPositions
from viam.proto.component.board import PowerMode
from viam.robot.client import RobotClient
from viam.rpc.dial import DialOptions
from viam.services.discovery import Discovery
from viam.services.generic import Generic as GenericService
from viam.services.slam import SLAM
from viam.services.vision import Vision
from viam.services.worldstatestore import WorldStateStore

SECTIONS = []


def section(tour):
    SECTIONS.append(tour)
    return tour


async def error_of(call):
    try:
        await call
        return "no error"
    except Exception as error:
        return str(error)


async def first(stream, count):
    found = []
    async for each in stream:
        found.append(each)
        if len(found) == count:
            break
    return found


async def until(what, probe):
    for _ in range(100):
        found = await probe()
        if found:
            return found
        await asyncio.sleep(0.05)
    raise TimeoutError(what)


@section
async def arm(robot):
    arm = Arm.from_robot(robot, "arm")
    before = await arm.get_joint_positions()
    await arm.move_to_joint_positions(JointPositions(values=[45]))
    moved = await arm.get_joint_positions()
    await arm.move_to_position(Pose(x=0, y=100, z=0, o_z=1))
    # Format and bytes of the old form; the new one comes behind where there is one.
    kinematics = await arm.get_kinematics()
    return {
        "before": before,
        "moved": moved,
        "end": await arm.get_end_position(),
        "moving": await arm.is_moving(),
        "kinematics": json.loads(kinematics[1]),
        "too_many": await error_of(arm.move_to_joint_positions(JointPositions(values=[1, 2]))),
        "stopped": await arm.stop(),
    }


@section
async def frames(robot):
    table = Transform(
        reference_frame="table",
        pose_in_observer_frame=PoseInFrame(reference_frame="base", pose=Pose(z=7, o_z=1)),
    )
    cup = PoseInFrame(reference_frame="table", pose=Pose(x=1, o_z=1))
    config = await robot.get_frame_system_config([table])
    return {
        "frames": [each.frame.reference_frame for each in config],
        "joints": [len(each.model.joints) for each in config],
        "arm": await robot.get_pose("arm", "world"),
        "origin": await robot.get_pose("arm_origin", "world"),
        "cup": await robot.transform_pose(cup, "arm_origin", [table]),
        "unknown": await error_of(robot.get_pose("nobody", "world")),
    }


@section
async def audio_in(robot):
    microphone = AudioIn.from_robot(robot, "audio_in")
    chunks = [each.audio async for each in await microphone.get_audio("pcm16", 0.25, 0)]
    return {
        "properties": await microphone.get_properties(),
        "bytes": [len(chunk.audio_data) for chunk in chunks],
        "sequence": [chunk.sequence for chunk in chunks],
        "info": chunks[0].audio_info,
    }


@section
async def audio_out(robot):
    speaker = AudioOut.from_robot(robot, "audio_out")
    info = AudioInfo(codec="pcm16", sample_rate_hz=44100, num_channels=1)

    async def chunks():
        for _ in range(3):
            yield bytes(10)

    await speaker.play(bytes(100), info)
    await speaker.play_stream(info, chunks())
    unknown = AudioInfo(codec="wax", sample_rate_hz=78, num_channels=1)
    return {
        "properties": await speaker.get_properties(),
        "status": await speaker.get_status(),
        "unknown": await error_of(speaker.play(bytes(1), unknown)),
    }


@section
async def base(robot):
    base = Base.from_robot(robot, "base")
    properties = await base.get_properties()
    await base.move_straight(distance=1000, velocity=100)
    await base.spin(angle=90, velocity=45)
    after = await base.is_moving()
    await base.set_velocity(linear=Vector3(y=100), angular=Vector3())
    driving = await base.is_moving()
    await base.stop()
    return {
        "width_meters": properties.width_meters,
        "moving": [after, driving, await base.is_moving()],
    }


@section
async def board(robot):
    board = Board.from_robot(robot, "board")
    pin = await board.gpio_pin_by_name("7")
    await pin.set(True)
    await pin.set_pwm(0.25)
    await pin.set_pwm_frequency(1000)
    analog = await board.analog_by_name("battery")
    readings = [(await analog.read()).value for _ in range(2)]
    await analog.write(77)
    written = (await analog.read()).value
    interrupt = await board.digital_interrupt_by_name("wheel")
    ticks = await first(await board.stream_ticks([interrupt]), 3)
    power_mode = await error_of(board.set_power_mode(PowerMode.POWER_MODE_OFFLINE_DEEP))
    missing = await board.analog_by_name("none")
    return {
        "high": await pin.get(),
        "pwm": [await pin.get_pwm(), await pin.get_pwm_frequency()],
        "readings": readings,
        "written": written,
        "edges": await interrupt.value(),
        "levels": [tick.high for tick in ticks],
        "status": await board.get_status(),
        "power_mode": power_mode,
        "missing": await error_of(missing.read()),
    }


@section
async def button(robot):
    button = Button.from_robot(robot, "button")
    await button.push()
    return {"status": await button.get_status()}


@section
async def camera(robot):
    camera = Camera.from_robot(robot, "camera")
    [image], metadata = await camera.get_images()
    points, mime_type = await camera.get_point_cloud()
    return {
        "image": base64.b64encode(image.data).decode(),
        "mime_type": str(image.mime_type),
        "source": image.name,
        "size": [image.width, image.height],
        "captured": metadata.captured_at.seconds,
        "properties": await camera.get_properties(),
        "points": points.split(b"DATA")[0].decode(),
        "points_mime_type": mime_type,
        "no_source": await error_of(camera.get_images(filter_source_names=["depth"])),
    }


@section
async def encoder(robot):
    encoder = Encoder.from_robot(robot, "encoder")

    async def turned():
        return (await encoder.get_position())[0] >= 10

    await until("ticks", turned)
    properties = await encoder.get_properties()
    await encoder.reset_position()
    return {
        "after_reset": (await encoder.get_position())[0],
        "kind": (await encoder.get_position())[1],
        "ticks": properties.ticks_count_supported,
    }


@section
async def gantry(robot):
    gantry = Gantry.from_robot(robot, "gantry")
    await gantry.move_to_position([250.0], [100.0])
    moved = await gantry.get_position()
    homed = await gantry.home()
    return {
        "moved": moved,
        "homed": [homed, await gantry.get_position()],
        "lengths": await gantry.get_lengths(),
        "moving": await gantry.is_moving(),
        "too_far": await error_of(gantry.move_to_position([2000.0], [100.0])),
    }


@section
async def generic(robot):
    command = {"say": ["hello", {"n": 1}]}
    return {
        "component": await Generic.from_robot(robot, "generic").do_command(command),
        "service": await GenericService.from_robot(robot, "generic").do_command(command),
    }


@section
async def gripper(robot):
    gripper = Gripper.from_robot(robot, "gripper")
    opened = await gripper.get_current_inputs()
    grabbed = await gripper.grab()
    closed = await gripper.get_current_inputs()
    await gripper.open()
    await gripper.go_to_inputs([30.0])
    holding = await gripper.is_holding_something()
    return {
        "inputs": [list(opened), list(closed), list(await gripper.get_current_inputs())],
        "grabbed": grabbed,
        "holding": holding.is_holding_something,
        "moving": await gripper.is_moving(),
        "joints": len(json.loads((await gripper.get_kinematics())[1])["joints"]),
    }


@section
async def input_controller(robot):
    controller = Controller.from_robot(robot, "input_controller")
    heard = asyncio.Queue()
    controller.register_control_callback(
        Control.BUTTON_START, [EventType.BUTTON_HOLD], heard.put_nowait
    )
    # The SDK tells the callback nothing of when the server listens.
    event = Event(1.0, EventType.BUTTON_HOLD, Control.BUTTON_START, 1)
    for _ in range(100):
        await controller.trigger_event(event)
        try:
            received = await asyncio.wait_for(heard.get(), 0.1)
            break
        except asyncio.TimeoutError:
            continue
    events = await controller.get_events()
    return {
        "controls": [control.value for control in await controller.get_controls()],
        "events": sorted(control.value for control in events),
        "received": [received.control.value, received.event.value, received.value],
    }


@section
async def motor(robot):
    motor = Motor.from_robot(robot, "motor")
    await motor.reset_zero_position(0)
    await motor.go_for(rpm=6000, revolutions=5)
    after_go_for = await motor.get_position()
    await motor.go_to(rpm=6000, position_revolutions=2)
    after_go_to = await motor.get_position()
    await motor.set_power(0.5)
    powered = await motor.is_powered()
    turning = asyncio.create_task(motor.go_for(rpm=1, revolutions=100))
    while (await motor.is_powered())[1] == 0.5:
        await asyncio.sleep(0.01)
    await motor.stop()
    await asyncio.wait_for(turning, 5)
    return {
        "positions": [after_go_for, after_go_to],
        "powered": list(powered),
        "stopped": list(await motor.is_powered()),
        "moving": await motor.is_moving(),
        "reports": (await motor.get_properties()).position_reporting,
        "no_speed": await error_of(motor.go_for(rpm=0, revolutions=1)),
    }


@section
async def movement_sensor(robot):
    sensor = MovementSensor.from_robot(robot, "movement_sensor")
    place, altitude = await sensor.get_position()
    accuracy = await sensor.get_accuracy()
    return {
        "place": [place.latitude, place.longitude, altitude],
        "velocity": await sensor.get_linear_velocity(),
        "acceleration": await sensor.get_linear_acceleration(),
        "turning": await sensor.get_angular_velocity(),
        "compass": await sensor.get_compass_heading(),
        "orientation": await sensor.get_orientation(),
        "fix": accuracy.position_nmea_gga_fix,
        "readings": await sensor.get_readings(),
    }


@section
async def pose_tracker(robot):
    tracker = PoseTracker.from_robot(robot, "pose_tracker")
    return {
        "all": sorted(await tracker.get_poses([])),
        "one": await tracker.get_poses(["body2"]),
    }


@section
async def power_sensor(robot):
    sensor = PowerSensor.from_robot(robot, "power_sensor")
    return {
        "voltage": await sensor.get_voltage(),
        "current": await sensor.get_current(),
        "power": await sensor.get_power(),
        "readings": await sensor.get_readings(),
    }


@section
async def sensor(robot):
    return await Sensor.from_robot(robot, "sensor").get_readings()


@section
async def servo(robot):
    servo = Servo.from_robot(robot, "servo")
    await servo.move(120)
    return {
        "position": await servo.get_position(),
        "moving": await servo.is_moving(),
        "too_far": await error_of(servo.move(181)),
    }


@section
async def switch(robot):
    switch = Switch.from_robot(robot, "switch")
    await switch.set_position(1)
    return {
        "position": await switch.get_position(),
        "positions": await switch.get_number_of_positions(),
        "too_far": await error_of(switch.set_position(2)),
    }


@section
async def discovery(robot):
    found = await Discovery.from_robot(robot, "discovery").discover_resources()
    return [[each.name, each.api, each.model] for each in found]


@section
async def slam(robot):
    slam = SLAM.from_robot(robot, "slam")
    chunks = await slam.get_point_cloud_map()
    state = await slam.get_internal_state()
    return {
        "position": await slam.get_position(),
        "chunks": len(chunks),
        "map": b"".join(chunks)[:20].decode(),
        "state": len(b"".join(state)),
        "mode": (await slam.get_properties()).mapping_mode,
    }


@section
async def vision(robot):
    vision = Vision.from_robot(robot, "vision")
    [image], _ = await Camera.from_robot(robot, "camera").get_images()
    everything = await vision.capture_all_from_camera(
        "camera", return_image=True, return_classifications=True, return_detections=True
    )
    return {
        "classification": (await vision.get_classifications_from_camera("camera", 1))[0],
        "of_image": (await vision.get_classifications(image, 1))[0],
        "detection": (await vision.get_detections_from_camera("camera"))[0],
        "in_image": (await vision.get_detections(image))[0],
        "everything": [
            len(everything.image.data) == len(image.data),
            len(everything.detections),
            len(everything.classifications),
        ],
        "properties": await vision.get_properties(),
        "no_camera": await error_of(vision.get_detections_from_camera("none")),
    }


@section
async def world_state_store(robot):
    store = WorldStateStore.from_robot(robot, "world_state_store")
    uuids = await store.list_uuids()
    changes = await first(store.stream_transform_changes(), 2)
    return {
        "uuids": sorted(uuid.decode() for uuid in uuids),
        "box": await store.get_transform(b"box"),
        "changes": [[change.transform.reference_frame, change.change_type] for change in changes],
    }


def plain(value):
    if isinstance(value, Message):
        return MessageToDict(value, preserving_proto_field_name=True)
    return value.__dict__ if hasattr(value, "__dict__") else str(value)


async def main():
    options = RobotClient.Options(
        dial_options=DialOptions(insecure=True, disable_webrtc=True),
        refresh_interval=0,
        check_connection_interval=0,
    )
    robot = await RobotClient.at_address(sys.argv[1], options)
    found = {"resources": sorted(str(name.name) for name in robot.resource_names)}
    try:
        for tour in SECTIONS:
            try:
                found[tour.__name__] = await asyncio.wait_for(tour(robot), 15)
            except Exception:
                found[tour.__name__] = {"error": traceback.format_exc()}
    finally:
        await robot.close()
    print("\n" + json.dumps(found, default=plain))


asyncio.run(main())
