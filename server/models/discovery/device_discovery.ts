import { Code, ConnectError } from "@connectrpc/connect";
import type { JsonObject } from "@bufbuild/protobuf";
import type { DiscoveryService } from "../../../shared/gen/viam/service/discovery/v1/discovery_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { findGamepads, findGpioChips, findI2cBuses, findSpiPlaces } from "./control_files.ts";
import { findNetworkInterfaces, findSerialPorts, findVideoDevices } from "./device_files.ts";

/** A component as the configuration has it. */
interface Discovered {
  readonly name: string;
  readonly api: string;
  readonly model: string;
  readonly attributes: JsonObject;
}

/**
 * Looks for devices with each call. What it finds can be put into a configuration as it is; where
 * `model` is empty, that of a module which drives such devices must be filled in.
 */
export function createDeviceDiscovery(root: string): Driver<typeof DiscoveryService> {
  return {
    async discoverResources(_request, { signal }: CallContext) {
      if (Deno.build.os !== "linux") {
        throw new ConnectError(
          "devices can be discovered on Linux only, from /sys and /dev",
          Code.Unimplemented,
        );
      }
      const [ports, videos, interfaces, chips, i2c, spi, gamepads] = await Promise.all([
        findSerialPorts(root),
        findVideoDevices(root),
        findNetworkInterfaces(root),
        findGpioChips(root),
        findI2cBuses(root),
        findSpiPlaces(root),
        findGamepads(root),
      ]);
      signal.throwIfAborted();
      const found: Discovered[] = [
        ...ports.map((port) => ({
          name: `serial-${port.name}`,
          api: "rdk:component:generic",
          model: "",
          attributes: { serial_path: port.path, ...described(port.description) },
        })),
        ...videos.map((video) => ({
          name: `camera-${video.name}`,
          api: "rdk:component:camera",
          model: "rdk:builtin:webcam",
          attributes: { video_path: video.path, ...described(video.description) },
        })),
        ...interfaces.map((name) => ({
          name: `network-${name}`,
          api: "rdk:component:sensor",
          model: "rdk:builtin:host",
          attributes: { interfaces: [name] },
        })),
        ...chips.map((chip) => ({
          name: `board-${chip}`,
          api: "rdk:component:board",
          model: "rdk:builtin:linux",
          attributes: { chip: `/dev/${chip}` },
        })),
        ...i2c.map(({ bus, description }) => ({
          name: `i2c-${bus}`,
          api: "rdk:component:generic",
          model: "",
          attributes: { bus, ...described(description) },
        })),
        ...spi.map(({ bus, chipSelect }) => ({
          name: `spi-${bus}-${chipSelect}`,
          api: "rdk:component:generic",
          model: "",
          attributes: { bus, chip_select: chipSelect },
        })),
        ...gamepads.map((pad) => ({
          name: `gamepad-${pad.name}`,
          api: "rdk:component:input_controller",
          model: "rdk:builtin:gamepad",
          attributes: { dev_file: pad.path, ...described(pad.description) },
        })),
      ];
      return { discoveries: found.map(toComponentConfig) };
    },
  };
}

function described(description: string | undefined): JsonObject {
  return description === undefined ? {} : { description };
}

function toComponentConfig({ name, ...rest }: Discovered) {
  const [namespace = "", , type = ""] = rest.api.split(":");
  // Names of the configuration take letters, digits, - and _ only, at most 60.
  return { name: name.replace(/[^\w-]/g, "_").slice(0, 60), namespace, type, ...rest };
}
