import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { create } from "@bufbuild/protobuf";
import {
  DiscoverResourcesRequestSchema,
  type DiscoveryService,
} from "../../../shared/gen/viam/service/discovery/v1/discovery_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { construct, testCall } from "../testing.ts";
import { devicesModel } from "./devices_model.ts";

const ignore = Deno.build.os !== "linux";

/** Files by path with their text; a text that begins with `->` is a link's target. */
async function discover(files: Readonly<Record<string, string>>) {
  const root = await Deno.makeTempDir();
  try {
    for (const [path, text] of Object.entries(files)) {
      const full = join(root, path);
      await Deno.mkdir(dirname(full), { recursive: true });
      if (text.startsWith("->")) await Deno.symlink(text.slice(2), full);
      else await Deno.writeTextFile(full, text);
    }
    return await discoverIn(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

async function discoverIn(root: string) {
  const service = await construct<Driver<typeof DiscoveryService>, unknown>(devicesModel(root));
  const request = create(DiscoverResourcesRequestSchema);
  const { discoveries = [] } = await service.discoverResources!(request, testCall());
  return discoveries.map(({ name, api, model, attributes }) => ({ name, api, model, attributes }));
}

const test = (name: string, fn: () => Promise<void>) => Deno.test({ name, ignore, fn });

test("devicesModel() finds serial ports by their lasting path, with maker and product", async () => {
  const usb = "sys/devices/usb1/1-2";
  const found = await discover({
    [`${usb}/idVendor`]: "0403\n",
    [`${usb}/manufacturer`]: "FTDI\n",
    [`${usb}/product`]: "FT232R USB UART\n",
    [`${usb}/1-2:1.0/ttyUSB0/port_number`]: "0",
    "sys/class/tty/ttyUSB0/device": "->../../../devices/usb1/1-2/1-2:1.0/ttyUSB0",
    "dev/serial/by-id/usb-FTDI_FT232R-if00": "->../../ttyUSB0",
    "sys/class/tty/ttyACM1/device/x": "",
  });
  assert.deepEqual(found, [
    {
      name: "serial-ttyACM1",
      api: "rdk:component:generic",
      model: "",
      attributes: { serial_path: "/dev/ttyACM1" },
    },
    {
      name: "serial-ttyUSB0",
      api: "rdk:component:generic",
      model: "",
      attributes: {
        serial_path: "/dev/serial/by-id/usb-FTDI_FT232R-if00",
        description: "FTDI FT232R USB UART",
      },
    },
  ]);
});

test("devicesModel() leaves out ports without hardware, and terminals", async () => {
  const found = await discover({
    "sys/class/tty/ttyS0/device/x": "",
    "sys/class/tty/ttyS0/type": "4\n",
    "sys/class/tty/ttyS1/device/x": "",
    "sys/class/tty/ttyS1/type": "0\n",
    "sys/class/tty/ttyS2/type": "4\n",
    "sys/class/tty/tty0/device/x": "",
    "sys/class/tty/ptmx/device/x": "",
  });
  assert.deepEqual(found.map(({ name }) => name), ["serial-ttyS0"]);
});

test("devicesModel() finds one video device a camera", async () => {
  const found = await discover({
    "sys/class/video4linux/video0/name": "HD Webcam: HD Webcam\n",
    "sys/class/video4linux/video0/index": "0\n",
    "sys/class/video4linux/video1/name": "HD Webcam: HD Webcam\n",
    "sys/class/video4linux/video1/index": "1\n",
    "sys/class/video4linux/video10/index": "0\n",
    "sys/class/video4linux/v4l-subdev0/name": "sensor\n",
    "dev/v4l/by-id/usb-HD_Webcam-video-index0": "->../../video0",
  });
  assert.deepEqual(found, [
    {
      name: "camera-video0",
      api: "rdk:component:camera",
      model: "rdk:builtin:webcam",
      attributes: {
        video_path: "/dev/v4l/by-id/usb-HD_Webcam-video-index0",
        description: "HD Webcam: HD Webcam",
      },
    },
    {
      name: "camera-video10",
      api: "rdk:component:camera",
      model: "rdk:builtin:webcam",
      attributes: { video_path: "/dev/video10" },
    },
  ]);
});

test("devicesModel() offers a host sensor for each network interface with hardware", async () => {
  const found = await discover({
    "sys/class/net/lo/address": "00",
    "sys/class/net/docker0/address": "02",
    "sys/class/net/eth0.100/device/x": "",
    "sys/class/net/wlan0/device/x": "",
  });
  assert.deepEqual(found, [
    {
      name: "network-eth0_100",
      api: "rdk:component:sensor",
      model: "rdk:builtin:host",
      attributes: { interfaces: ["eth0.100"] },
    },
    {
      name: "network-wlan0",
      api: "rdk:component:sensor",
      model: "rdk:builtin:host",
      attributes: { interfaces: ["wlan0"] },
    },
  ]);
});

test("devicesModel() finds GPIO chips, buses of sensors, and gamepads", async () => {
  const found = await discover({
    "dev/gpiochip0": "",
    "dev/gpiochip10": "",
    "dev/gpio": "",
    "dev/i2c-1": "",
    "sys/class/i2c-dev/i2c-1/name": "bcm2835 (i2c@7e804000)\n",
    "dev/spidev0.1": "",
    "dev/input/by-id/usb-Pad-event-joystick": "->../event3",
    "sys/class/input/event3/device/name": "Wireless Controller\n",
    "sys/class/input/event3/device/capabilities/key": "7fdb000000000000 0 0 0 0\n",
    // A keyboard, and one whose file says nothing.
    "sys/class/input/event1/device/capabilities/key":
      "402000000 3803078f800d001 feffffdfffefffff\n",
    "sys/class/input/event2/device/name": "?\n",
    "sys/class/input/js0/device/name": "Wireless Controller\n",
  });
  const board = { api: "rdk:component:board", model: "rdk:builtin:linux" };
  const bus = { api: "rdk:component:generic", model: "" };
  assert.deepEqual(found, [
    { name: "board-gpiochip0", ...board, attributes: { chip: "/dev/gpiochip0" } },
    { name: "board-gpiochip10", ...board, attributes: { chip: "/dev/gpiochip10" } },
    { name: "i2c-1", ...bus, attributes: { bus: 1, description: "bcm2835 (i2c@7e804000)" } },
    { name: "spi-0-1", ...bus, attributes: { bus: 0, chip_select: 1 } },
    {
      name: "gamepad-event3",
      api: "rdk:component:input_controller",
      model: "rdk:builtin:gamepad",
      attributes: {
        dev_file: "/dev/input/by-id/usb-Pad-event-joystick",
        description: "Wireless Controller",
      },
    },
  ]);
});

test("devicesModel() finds nothing where there is no /sys, and looks at this host", async () => {
  assert.deepEqual(await discover({}), []);
  for (const { name } of await discoverIn("/")) assert.match(name ?? "", /^[a-z]+-[\w-]+$/);
});
