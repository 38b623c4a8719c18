"""The demo's module, on the published Python SDK.

demo:garden:gardener is a sensor that reads another sensor, named by the attribute `thermometer`, and
says what is to be done. Change it, and restart the module: RestartModule, or kill its process.
"""

import asyncio

from viam.components.sensor import Sensor
from viam.module.module import Module
from viam.resource.easy_resource import EasyResource
from viam.utils import struct_to_dict


class Gardener(Sensor, EasyResource):
    MODEL = "demo:garden:gardener"

    @classmethod
    def validate_config(cls, config):
        thermometer = struct_to_dict(config.attributes).get("thermometer")
        if not isinstance(thermometer, str):
            raise ValueError("attributes.thermometer: the name of a sensor is missing")
        return [thermometer], []

    @classmethod
    def new(cls, config, dependencies):
        self = super().new(config, dependencies)
        self.thermometer = next(iter(dependencies.values()))
        return self

    async def get_readings(self, *, extra=None, timeout=None, **kwargs):
        celsius = (await self.thermometer.get_readings())["temperature"]
        advice = "open a window" if celsius > 22 else "close the windows" if celsius < 15 else "rest"
        return {"celsius": celsius, "fahrenheit": celsius * 9 / 5 + 32, "advice": advice}


if __name__ == "__main__":
    asyncio.run(Module.run_from_registry())
