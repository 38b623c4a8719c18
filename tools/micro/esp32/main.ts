// deno run -A tools/micro/esp32/main.ts [--output FOLDER] [--credentials FILE [--ca-file FILE] [--wifi-ssid NAME] [--no-tls]]
// Makes the firmware of machine-micro-server for an ESP32-S3, by default in dist/. With credentials also the
// content of that device's partition for values; the password of its WiFi is that of WIFI_PASSWORD.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { gitIn, readStamp } from "../../bundle/build_stamp.ts";
import { ROOT } from "../../programs.ts";
import { storeImage } from "../firmware/flash_image.ts";
import { deviceValues } from "../firmware/values.ts";
import { findZig } from "../zig.ts";
import { buildEsp32, CHIP, noKitBecause, VALUES_AT } from "./build.ts";

async function main(): Promise<void> {
  const { values: given } = parseArgs({
    args: Deno.args,
    options: {
      output: { type: "string", default: join(ROOT, "dist") },
      credentials: { type: "string" },
      "ca-file": { type: "string" },
      "wifi-ssid": { type: "string" },
      "no-tls": { type: "boolean" },
    },
  });
  // Before anything is fetched.
  const missing = await noKitBecause();
  if (missing !== undefined) throw new Error(missing);
  const ssid = given["wifi-ssid"] ?? "";
  if (given.credentials !== undefined && ssid === "") {
    throw new Error("the device needs the name of its WiFi: WIFI_SSID=");
  }
  const manifest = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    version: string;
  };
  const stamp = await readStamp(gitIn(ROOT), manifest.version);
  const name = join(given.output, `machine-micro-server-${CHIP}`);
  const sources = { root: ROOT, zig: await findZig(ROOT) };
  const built = await buildEsp32({ ...sources, ...stamp, output: `${name}.bin` });
  process.stdout.write(
    `${built.image}\nOnto a chip: idf.py -C micro/hosts/esp32 -B ${built.build} -p PORT flash\n`,
  );
  if (given.credentials === undefined) return;
  const values = await deviceValues({
    credentials: given.credentials,
    caFile: given["ca-file"],
    noTls: given["no-tls"],
  });
  const encoder = new TextEncoder();
  values["wifi-ssid"] = encoder.encode(ssid);
  const password = process.env.WIFI_PASSWORD;
  if (password) values["wifi-password"] = encoder.encode(password);
  const file = `${name}.values`;
  await Deno.writeFile(file, storeImage(values), { mode: 0o600 });
  process.stdout.write(
    `${file}\nOnto the chip: esptool.py -p PORT write_flash 0x${VALUES_AT.toString(16)} ${file}\n`,
  );
}

try {
  await main();
} catch (error) {
  process.stderr.write(`micro-esp32: ${toError(error).message}\n`);
  process.exitCode = 1;
}
