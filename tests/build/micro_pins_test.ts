// Pins of machine-micro-server on Linux, compiled, with a folder in place of the kernel's. Compiling takes
// minutes, so `make smoke` runs it.
import assert from "node:assert/strict";
import { join } from "node:path";
import { ignoreBecause } from "../../shared/test_tools/skips.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { noNamesBecause } from "../e2e/named_hosts.ts";
import { buildProbe, Probe } from "./micro_host.ts";

const ignore = ignoreBecause(
  import.meta.url,
  await noNamesBecause() ?? await noSourcesBecause(),
);

Deno.test({
  name: "micro pins: analog inputs are those of the kernel's converters",
  ignore,
  fn: async () => {
    const folder = await Deno.makeTempDir({ prefix: "machine-micro-" });
    try {
      const converter = async (chip: number, values: Readonly<Record<string, string>>) => {
        const home = join(folder, `bus/iio/devices/iio:device${chip}`);
        await Deno.mkdir(home, { recursive: true });
        for (const [name, text] of Object.entries(values)) {
          await Deno.writeTextFile(join(home, name), `${text}\n`);
        }
      };
      await converter(0, { in_voltage3_raw: "2048", in_voltage_scale: "0.805664062" });
      await converter(1, {
        ...{ in_voltage0_raw: "100", in_voltage0_scale: "2", in_voltage_scale: "1" },
        ...{ in_voltage1_raw: "7", in_voltage2_raw: "nothing" },
      });
      await converter(2, { in_voltage0_raw: "1" });
      const mount = 'mount --bind "$0" /sys/bus && exec "$@"';
      const runner = ["unshare", "-m", "sh", "-c", mount, join(folder, "bus")];
      const program = await buildProbe(ownTarget());
      await using probe = await Probe.start(program, folder, { runner });
      const read = (pin: string) => probe.ask({ op: "analog", pin });
      const step = 0.805664062 / 1000;
      assert.deepEqual(await read("3"), { value: 2048, min: 0, max: step * 4095, stepSize: step });
      const own = { value: 100, min: 0, max: 0.002 * 4095, stepSize: 0.002 };
      assert.deepEqual(await read("1:0"), own);
      assert.equal((await read("1:1"))["stepSize"], 0.001);
      assert.match(String((await read("1:2"))["error"]), /cannot read analog input 1:2/);
      assert.match(String((await read("1:9"))["error"]), /input 1:9: No such file/);
      assert.match(String((await read("2:0"))["error"]), /no scale of analog input 2:0: No such/);
      assert.match(String((await read("A0"))["error"]), /that is no pin/);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
