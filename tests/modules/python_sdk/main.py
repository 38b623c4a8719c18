"""A module on the published Python SDK, as a user would write it.

acme:python:reader is a sensor: the readings of the sensor that attribute `source` names, and how
often it was asked. acme:python:gauge is of an API that only modules have. DoCommand of both:
{"crash": true} ends the process at once, {"log": text} writes to the logger. The variable
PYTHON_START_DELAY_MS lets it start late.
"""

import asyncio
import os
import time

from gauge import Gauge
from viam.components.sensor import Sensor
from viam.module.module import Module
from viam.resource.easy_resource import EasyResource
from viam.utils import struct_to_dict


class Commands:
    async def do_command(self, command, *, timeout=None, **kwargs):
        if command.get("crash") is True:
            os._exit(70)
        if "log" in command:
            self.logger.warning(command["log"])
        return {"module": os.environ["VIAM_MODULE_NAME"]}


class Reader(Commands, Sensor, EasyResource):
    MODEL = "acme:python:reader"

    @classmethod
    def validate_config(cls, config):
        source = struct_to_dict(config.attributes).get("source")
        if not isinstance(source, str):
            raise ValueError("attributes.source: name of a sensor is missing")
        return [source], []

    @classmethod
    def new(cls, config, dependencies):
        self = super().new(config, dependencies)
        self.source = next(iter(dependencies.values()))
        self.asked = 0
        return self

    async def get_readings(self, *, extra=None, timeout=None, **kwargs):
        self.asked += 1
        return {**await self.source.get_readings(), "asked": self.asked}


class FixedGauge(Commands, Gauge, EasyResource):
    MODEL = "acme:python:gauge"

    @classmethod
    def new(cls, config, dependencies):
        self = super().new(config, dependencies)
        self.value = struct_to_dict(config.attributes).get("value", 0.0)
        return self

    async def read(self, unit):
        return self.value


if __name__ == "__main__":
    time.sleep(int(os.environ.get("PYTHON_START_DELAY_MS", "0")) / 1000)
    asyncio.run(Module.run_from_registry())
