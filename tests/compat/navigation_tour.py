"""Drives a base between places with the published Python SDK's navigation client.

Arguments: the server's address (host:port), which lets everybody in and has no TLS; and `before` or
`after` a power cut. Writes one JSON object to the last line of standard output.
"""

import asyncio
import json
import sys

from viam.proto.common import GeoPoint, GeoPose
from viam.proto.service.navigation import GoalState, Position, Waypoint
from viam.services.navigation import NavigationClient

from tour import DEADLINE_S, METERS_PER_DEGREE, error_of, open_machine


def place(north, east):
    point = GeoPoint(latitude=north / METERS_PER_DEGREE, longitude=east / METERS_PER_DEGREE)
    return Position(geo_pose=GeoPose(location=point))


def metres(position):
    location = position.geo_pose.location
    return [location.latitude * METERS_PER_DEGREE, location.longitude * METERS_PER_DEGREE]


async def before(navigation):
    await navigation.add_location("dock")
    await navigation.add_location("door", place(1, 0))
    await navigation.add_route("patrol", [Waypoint(location="door"), Waypoint(location="dock")])
    centre = {"latitude": 9 / METERS_PER_DEGREE, "longitude": 0}
    circle = {"type": "circle", "center": centre, "radius_m": 1}
    await navigation.add_zone("pond", "keepout", circle)
    plan = await navigation.plan_to_location("door")
    begun = await navigation.navigate_to_location("door")
    suspended = await navigation.suspend("somebody is in the way")
    resumed = await navigation.resume()
    async with asyncio.timeout(DEADLINE_S):
        while (await navigation.get_navigation_status()).goal.state == GoalState.GOAL_STATE_ACTIVE:
            await asyncio.sleep(0.1)
    ended = await navigation.get_navigation_status()
    properties = await navigation.get_properties()
    return {
        "plan": [len(plan.path), plan.length_m],
        "states": [one.goal.state for one in [begun, suspended, resumed, ended]],
        "reason": suspended.goal.suspend_reason,
        "location": begun.goal.location,
        "arrived": metres(await navigation.get_position()),
        "properties": [properties.map_type, properties.footprint_width_m, properties.zones_supported],
        "inside": await error_of(navigation.plan_to_point(place(9, 0))),
        "costmap": (await navigation.get_costmap()).available,
    }


async def after(navigation):
    ended = await navigation.go_to_location("dock")
    return {
        "locations": [one.name for one in await navigation.list_locations()],
        "dock": metres((await navigation.get_location("dock")).position),
        "route": [stop.location for stop in (await navigation.get_route("patrol")).waypoints],
        "zone": [one.name for one in await navigation.list_zones("keepout")],
        "state": ended.goal.state,
        "unknown": await error_of(navigation.get_location("nowhere")),
    }


async def main(address, which):
    async with open_machine(address) as machine:
        navigation = NavigationClient.from_robot(machine, "navigation")
        result = await (before if which == "before" else after)(navigation)
        print(json.dumps(result))


asyncio.run(main(*sys.argv[1:]))
