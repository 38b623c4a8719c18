"""What is switched and pressed, and what knows commands only."""

import asyncio

from viam.components.board import Board
from viam.components.button import Button
from viam.components.generic import Generic
from viam.components.input import Control, Controller, Event, EventType
from viam.components.switch import Switch
from viam.proto.component.board import PowerMode
from viam.services.generic import Generic as GenericService

from fakes_calls import error_of, first


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


async def button(robot):
    button = Button.from_robot(robot, "button")
    await button.push()
    return {"status": await button.get_status()}


async def generic(robot):
    command = {"say": ["hello", {"n": 1}]}
    return {
        "component": await Generic.from_robot(robot, "generic").do_command(command),
        "service": await GenericService.from_robot(robot, "generic").do_command(command),
    }


async def input_controller(robot):
    controller = Controller.from_robot(robot, "input_controller")
    heard = asyncio.Queue()
    controller.register_control_callback(
        Control.BUTTON_START, [EventType.BUTTON_HOLD], heard.put_nowait
    )
    # The SDK tells the callback nothing of when the server listens.
    event = Event(1.0, EventType.BUTTON_HOLD, Control.BUTTON_START, 1)
    for _ in range(600):
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


async def switch(robot):
    switch = Switch.from_robot(robot, "switch")
    await switch.set_position(1)
    return {
        "position": await switch.get_position(),
        "positions": await switch.get_number_of_positions(),
        "too_far": await error_of(switch.set_position(2)),
    }


TOURS = (board, button, generic, input_controller, switch)
