/** What Linux's /sys and /dev report devices. Missing folders mean that there are no such ones. */
import { basename, dirname, join } from "node:path";

/** A device with a file in /dev. */
export interface DeviceFile {
  /** As the kernel calls it: `ttyUSB0`. */
  readonly name: string;
  /** The path that stays the same when devices are plugged in again, where there is one. */
  readonly path: string;
  /** What the device reports of itself. */
  readonly description: string | undefined;
}

/** USB, modem, board and PC ports; no terminals and pseudo terminals. */
const SERIAL_PORT = /^tty(USB|ACM|AMA|S|THS|mxc|O|SC|GS)\d+$/;
/** UART type of a port that the driver made room for, but found no hardware at. */
const UNKNOWN_UART = "0";
/** A device's own folder, its interface, its port, and the USB device itself. */
const STEPS_TO_USB_DEVICE = 5;

/** Serial ports that have hardware, sorted by name. */
export async function findSerialPorts(root: string): Promise<DeviceFile[]> {
  const stable = await linksTo(join(root, "dev/serial/by-id"), "/dev/serial/by-id");
  const ports: DeviceFile[] = [];
  for (const name of await namesIn(join(root, "sys/class/tty"))) {
    const folder = join(root, "sys/class/tty", name);
    if (!SERIAL_PORT.test(name) || !await exists(join(folder, "device"))) continue;
    if (await read(join(folder, "type")) === UNKNOWN_UART) continue;
    ports.push({
      name,
      path: stable.get(name) ?? `/dev/${name}`,
      description: await usbDescription(join(folder, "device")),
    });
  }
  return ports;
}

/** Devices that take images, one a camera, sorted by name. */
export async function findVideoDevices(root: string): Promise<DeviceFile[]> {
  const stable = await linksTo(join(root, "dev/v4l/by-id"), "/dev/v4l/by-id");
  const videos: DeviceFile[] = [];
  for (const name of await namesIn(join(root, "sys/class/video4linux"))) {
    const folder = join(root, "sys/class/video4linux", name);
    // The further nodes of a camera carry data about its images.
    if (!/^video\d+$/.test(name) || (await read(join(folder, "index")) ?? "0") !== "0") continue;
    videos.push({
      name,
      path: stable.get(name) ?? `/dev/${name}`,
      description: await read(join(folder, "name")),
    });
  }
  return videos;
}

/** Names of the network interfaces that have hardware, sorted. */
export async function findNetworkInterfaces(root: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of await namesIn(join(root, "sys/class/net"))) {
    if (await exists(join(root, "sys/class/net", name, "device"))) names.push(name);
  }
  return names;
}

/** Maker and product of the USB device that a device is part of. */
async function usbDescription(device: string): Promise<string | undefined> {
  let folder = await Deno.realPath(device).catch(() => undefined); // unplugged meanwhile
  for (let step = 0; folder !== undefined && step < STEPS_TO_USB_DEVICE; step++) {
    if (await exists(join(folder, "idVendor"))) {
      const words = [await read(join(folder, "manufacturer")), await read(join(folder, "product"))];
      return words.filter(Boolean).join(" ") || undefined;
    }
    folder = dirname(folder);
  }
}

/** Name of the device → the path of the link to it, the first by name. */
export async function linksTo(folder: string, shownAs: string): Promise<Map<string, string>> {
  const links = new Map<string, string>();
  for (const name of await namesIn(folder)) {
    const target = await Deno.readLink(join(folder, name)).catch(() => undefined); // no link
    if (target === undefined || links.has(basename(target))) continue;
    links.set(basename(target), `${shownAs}/${name}`);
  }
  return links;
}

/** What is in a folder, sorted; nothing where there is none. */
export async function namesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name } of Deno.readDir(folder)) names.push(name);
  } catch {
    return []; // the kernel has no such devices, or a container shows none
  }
  return names.sort(new Intl.Collator("en", { numeric: true }).compare);
}

/** The text of a file; undefined where there is none. */
export async function read(path: string): Promise<string | undefined> {
  try {
    return (await Deno.readTextFile(path)).trim();
  } catch {
    return undefined; // not every device has every file
  }
}

async function exists(path: string): Promise<boolean> {
  return await Deno.stat(path).then(() => true, () => false);
}
