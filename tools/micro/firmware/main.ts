// deno run -A tools/micro/firmware/main.ts [--credentials FILE [--ca-file FILE] [--no-tls]]
// Makes the firmware of machine-micro-server in dist/ and says what takes how much room. With
// credentials also the content of the flash chip of that device.
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { gitIn, readStamp } from "../../bundle/build_stamp.ts";
import { ROOT } from "../../programs.ts";
import { sizeReport } from "../sizes.ts";
import { findZig } from "../zig.ts";
import { BOARD, buildFirmware } from "./build.ts";
import { flashImage } from "./flash_image.ts";
import { deviceValues } from "./values.ts";

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: Deno.args,
    options: {
      credentials: { type: "string" },
      "ca-file": { type: "string" },
      "no-tls": { type: "boolean" },
    },
  });
  const manifest = JSON.parse(await Deno.readTextFile(join(ROOT, "deno.json"))) as {
    version: string;
  };
  const stamp = await readStamp(gitIn(ROOT), manifest.version);
  const built = await buildFirmware({ root: ROOT, zig: await findZig(ROOT), ...stamp });
  process.stdout.write(await sizeReport(built, "newlib"));
  if (values.credentials === undefined) return;
  const file = join(ROOT, "dist", `machine-micro-server-${BOARD}.flash`);
  const flash = flashImage(
    await Deno.readFile(built.image),
    await deviceValues({
      credentials: values.credentials,
      caFile: values["ca-file"],
      noTls: values["no-tls"],
    }),
  );
  await Deno.writeFile(file, flash, { mode: 0o600 });
  process.stdout.write(`${file}\n`);
}

try {
  await main();
} catch (error) {
  process.stderr.write(`micro-firmware: ${toError(error).message}\n`);
  process.exitCode = 1;
}
