import { attributes } from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";

/** This model takes no attributes. */
export type DevicesAttributes = Record<never, never>;

/**
 * Model `rdk:builtin:devices` of `rdk:service:discovery`: the serial ports, video devices,
 * network interfaces, GPIO chips, I2C and SPI buses and gamepads of this host.
 *
 * @param root of the file system that is looked at; another one in tests.
 */
export function devicesModel(root = "/"): Model<DevicesAttributes> {
  return {
    api: "rdk:service:discovery",
    model: "rdk:builtin:devices",
    triedWith: "the device files of a made-up host; no real devices",
    attributes: attributes<DevicesAttributes>({}),
    async construct() {
      const { createDeviceDiscovery } = await import("./device_discovery.ts");
      return createDeviceDiscovery(root);
    },
  };
}
