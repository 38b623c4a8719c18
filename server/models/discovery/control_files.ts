/** What Linux's /sys and /dev report of GPIO, buses and gamepads. */
import { join } from "node:path";
import { type DeviceFile, linksTo, namesIn, read } from "./device_files.ts";

/** The south button, which every gamepad has (BTN_GAMEPAD of linux/input-event-codes.h). */
const BTN_GAMEPAD = 0x130n;
const WORD_BITS = 64n;

/** GPIO chips, sorted by name. */
export async function findGpioChips(root: string): Promise<string[]> {
  return (await namesIn(join(root, "dev"))).filter((name) => /^gpiochip\d+$/.test(name));
}

/** I2C buses that programs may use, with what drives each, sorted by number. */
export async function findI2cBuses(root: string) {
  const buses: { bus: number; description: string | undefined }[] = [];
  for (const name of await namesIn(join(root, "dev"))) {
    const [, bus] = /^i2c-(\d+)$/.exec(name) ?? [];
    if (bus === undefined) continue;
    const description = await read(join(root, "sys/class/i2c-dev", name, "name"));
    buses.push({ bus: Number(bus), description });
  }
  return buses;
}

/** Places on SPI buses that programs may use, sorted. */
export async function findSpiPlaces(root: string) {
  return (await namesIn(join(root, "dev"))).flatMap((name) => {
    const [, bus, chipSelect] = /^spidev(\d+)\.(\d+)$/.exec(name) ?? [];
    return bus === undefined ? [] : [{ bus: Number(bus), chipSelect: Number(chipSelect) }];
  });
}

/** Input devices with the buttons of a gamepad, sorted by name. */
export async function findGamepads(root: string): Promise<DeviceFile[]> {
  const stable = await linksTo(join(root, "dev/input/by-id"), "/dev/input/by-id");
  const found: DeviceFile[] = [];
  for (const name of await namesIn(join(root, "sys/class/input"))) {
    const device = join(root, "sys/class/input", name, "device");
    if (
      !/^event\d+$/.test(name) || !hasGamepadButtons(await read(join(device, "capabilities/key")))
    ) {
      continue;
    }
    const path = stable.get(name) ?? `/dev/input/${name}`;
    found.push({ name, path, description: await read(join(device, "name")) });
  }
  return found;
}

/** @param keys as the kernel lists them: words of hexadecimal digits, the lowest last. */
function hasGamepadButtons(keys: string | undefined): boolean {
  const words = keys?.split(" ").reverse() ?? [];
  const word = words[Number(BTN_GAMEPAD / WORD_BITS)] ?? "";
  if (!/^[0-9a-f]+$/.test(word)) return false;
  return (BigInt(`0x${word}`) >> BTN_GAMEPAD % WORD_BITS & 1n) === 1n;
}
