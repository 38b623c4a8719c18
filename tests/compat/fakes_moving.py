"""What moves: arm, base, gantry, gripper, motor, servo, and the frames of a machine."""

import asyncio
import json

from viam.components.arm import Arm
from viam.components.base import Base
from viam.components.gantry import Gantry
from viam.components.gripper import Gripper
from viam.components.motor import Motor
from viam.components.servo import Servo
from viam.proto.common import Pose, PoseInFrame, Transform, Vector3
from viam.proto.component.arm import JointPositions

from fakes_calls import error_of


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
    await asyncio.wait_for(turning, 60)
    return {
        "positions": [after_go_for, after_go_to],
        "powered": list(powered),
        "stopped": list(await motor.is_powered()),
        "moving": await motor.is_moving(),
        "reports": (await motor.get_properties()).position_reporting,
        "no_speed": await error_of(motor.go_for(rpm=0, revolutions=1)),
    }


async def servo(robot):
    servo = Servo.from_robot(robot, "servo")
    await servo.move(120)
    return {
        "position": await servo.get_position(),
        "moving": await servo.is_moving(),
        "too_far": await error_of(servo.move(181)),
    }


TOURS = (arm, frames, base, gantry, gripper, motor, servo)
