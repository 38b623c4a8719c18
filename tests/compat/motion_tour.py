"""Drives a machine's base to places with the published Python SDK's motion client.

Argument: the server's address (host:port), which lets everybody in and has no TLS. Writes one JSON
object to the last line of standard output.
"""

import asyncio
import json
import sys

from viam.components.movement_sensor import MovementSensor
from viam.proto.common import GeoGeometry, Geometry, GeoPoint, Pose, PoseInFrame, Sphere
from viam.proto.service.motion import MotionConfiguration, PlanState
from viam.services.motion import MotionClient

from tour import DEADLINE_S, METERS_PER_DEGREE, error_of, open_machine


async def main(address: str):
    async with open_machine(address) as machine:
        motion = MotionClient.from_robot(machine, "motion")
        odometry = MovementSensor.from_robot(machine, "odometry")

        def place(north, east):
            return GeoPoint(latitude=north / METERS_PER_DEGREE, longitude=east / METERS_PER_DEGREE)

        fast = MotionConfiguration(linear_m_per_sec=0.4, angular_degs_per_sec=60)
        stone = Geometry(center=Pose(), sphere=Sphere(radius_mm=100), label="stone")
        execution = await motion.move_on_globe(
            "rover",
            place(1, 0),
            "odometry",
            obstacles=[GeoGeometry(location=place(0.5, 0), geometries=[stone])],
            configuration=fast,
        )
        async with asyncio.timeout(DEADLINE_S):
            while await motion.list_plan_statuses(only_active_plans=True):
                await asyncio.sleep(0.1)
        plan = await motion.get_plan("rover")
        at, _ = await odometry.get_position()
        await motion.move_on_globe("rover", place(50, 0), "odometry", configuration=fast)
        await motion.stop_plan("rover")
        statuses = await motion.list_plan_statuses()
        result = {
            "states": [status.status.state for status in statuses],
            "active": len(await motion.list_plan_statuses(only_active_plans=True)),
            "arrived": [at.latitude * METERS_PER_DEGREE, at.longitude * METERS_PER_DEGREE],
            "steps": len(plan.current_plan_with_status.plan.steps),
            "same_execution": plan.current_plan_with_status.plan.execution_id == execution
            and plan.current_plan_with_status.status.state == PlanState.PLAN_STATE_SUCCEEDED,
            "move": await error_of(
                motion.move("rover", PoseInFrame(reference_frame="world", pose=Pose()))
            ),
            "unknown": await error_of(motion.stop_plan("nobody")),
        }
        print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
