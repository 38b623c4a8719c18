"""Moves an arm with the published Python SDK's motion client.

Argument: the server's address (host:port), which lets everybody in and has no TLS. Writes one JSON
object to the last line of standard output.
"""

import asyncio
import json
import sys

from viam.components.arm import Arm
from viam.proto.common import (
    GeometriesInFrame,
    Geometry,
    Pose,
    PoseInFrame,
    RectangularPrism,
    Sphere,
    Vector3,
    WorldState,
)
from viam.proto.service.motion import Constraints, LinearConstraint
from viam.services.motion import MotionClient

from tour import error_of, open_machine


def down(x, y, z, frame="world"):
    return PoseInFrame(reference_frame=frame, pose=Pose(x=x, y=y, z=z, o_x=0, o_y=0, o_z=-1, theta=0))


def place(pose):
    return [pose.x, pose.y, pose.z, pose.o_z]


async def main(address: str):
    async with open_machine(address) as machine:
        motion = MotionClient.from_robot(machine, "motion")
        arm = Arm.from_robot(machine, "arm")

        table = Geometry(center=Pose(z=50), box=RectangularPrism(dims_mm=Vector3(x=200, y=200, z=100)))
        world = WorldState(obstacles=[GeometriesInFrame(reference_frame="world", geometries=[table])])
        extra = {"timeout": 60}
        moved = await motion.move("gripper", down(300, -400, 300), world_state=world, extra=extra)
        result = {
            "moved": moved,
            "gripper": place((await machine.get_pose("gripper", "world")).pose),
            "end": place(await arm.get_end_position()),
        }
        # To the other side of the pillar, and along a line back towards the base.
        await motion.move("gripper", down(-300, -400, 300), world_state=world, extra=extra)
        line = Constraints(linear_constraint=[LinearConstraint(line_tolerance_mm=1)])
        await motion.move("gripper", down(-330, -370, 330), constraints=line, extra=extra)
        seen = await motion.get_pose("gripper", "pillar")
        result["from_pillar"] = place(seen.pose)
        result["inside"] = await error_of(motion.move("gripper", down(0, -500, 500), extra=extra))
        result["far"] = await error_of(motion.move("gripper", down(3000, 0, 0), extra=extra))
        ball = Geometry(center=Pose(), sphere=Sphere(radius_mm=1), label="ball")
        lost = WorldState(obstacles=[GeometriesInFrame(reference_frame="moon", geometries=[ball])])
        result["lost"] = await error_of(motion.move("gripper", down(300, -400, 300), world_state=lost))
        kind, file, *_ = await arm.get_kinematics()
        result["kinematics"] = [int(kind), json.loads(file)["kinematic_param_type"]]
        await arm.move_to_position(Pose(x=-300, y=-300, z=400, o_x=0, o_y=0, o_z=-1, theta=0))
        result["position"] = place(await arm.get_end_position())
        print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
