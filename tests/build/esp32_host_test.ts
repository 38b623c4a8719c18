// The host for an ESP32, whose kit is not here: what it is compiled of, against declarations of the kit
// and the real headers of lwIP, Mbed TLS and the engine; its partition table; and `make micro-esp32`
// with an imitated `idf.py`.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { ignoreBecause, missingTools } from "../../shared/test_tools/skips.ts";
import { ROOT } from "../../tools/programs.ts";
import { esp32Flags, VALUES_AT } from "../../tools/micro/esp32/build.ts";
import { storeImage } from "../../tools/micro/firmware/flash_image.ts";
import { fetchAll } from "../../tools/micro/objects.ts";
import { COMMON, FIRMWARE_RECIPES, OWN_FLAGS } from "../../tools/micro/recipes.ts";
import { forEachAtOnce, run } from "../../tools/micro/run.ts";
import { LIBRARIES, noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { zigToolchain } from "../../tools/micro/toolchain.ts";
import { findZig } from "../../tools/micro/zig.ts";

const HOST = join(ROOT, "micro/hosts/esp32");
const MIB = 1024 * 1024;
const IMAGE_ALIGNMENT = 0x10000;

const ignore = ignoreBecause(
  import.meta.url,
  missingTools("cortex-m") ?? await noSourcesBecause(),
);

/** Writes the headers of the kit in a folder. */
async function writeKit(folder: string): Promise<void> {
  const text = await Deno.readTextFile(join(ROOT, "tests/build/esp_idf/declarations.h"));
  const [, ...parts] = text.split(/^\/\/ header: (\S+) .*$/m);
  for (let i = 0; i < parts.length; i += 2) {
    const file = join(folder, parts[i] ?? "");
    await Deno.mkdir(dirname(file), { recursive: true });
    await Deno.writeTextFile(file, parts[i + 1] ?? "");
  }
}

/** What a build makes of the script. */
async function writeGenerated(folder: string): Promise<void> {
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(
    join(folder, "bytecode.h"),
    "#include <stddef.h>\n#include <stdint.h>\nstatic const size_t BYTECODE_LENGTH = 1;\n" +
      "static const uint8_t BYTECODE[] = {0};\n",
  );
  await Deno.writeTextFile(join(folder, "table_entries.h"), '{"name", "entry"},\n');
}

async function sourcesOf(folder: string): Promise<string[]> {
  const files: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".c") && name !== "compile.c") files.push(join(folder, name));
  }
  return files;
}

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "machine-esp32-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

type Compile = (args: readonly string[]) => Promise<unknown>;

/** For a Cortex-M, whose C library is that of the kit. */
const forArm: Compile = (args) =>
  run("arm-none-eabi-gcc", ["-mcpu=cortex-m3", "-mthumb", "-fsyntax-only", ...args]);

/** For a RISC-V as some chips of the family have, by another compiler. */
async function forRiscv(folder: string): Promise<Compile> {
  const { compile } = await zigToolchain(ROOT, await findZig(ROOT), {
    name: "riscv32",
    platform: "",
    compiler: ["-target", "riscv32-linux-musl", "-mcpu=generic_rv32+m+a+c"],
  });
  return (args) => compile(["-Os", "-c", ...args, "-o", join(folder, `${crypto.randomUUID()}.o`)]);
}

/**
 * For an Xtensa, by the compiler of the ESP8266: the instructions that it shares with the chip here, with
 * the headers of newlib in place of the kit's.
 */
const forXtensa = (folder: string): Compile => (args) =>
  run("xtensa-lx106-elf-gcc", [
    ..."-mlongcalls -Os -c -idirafter /usr/include/newlib".split(" "),
    ...[...args, "-o", join(folder, `${crypto.randomUUID()}.o`)],
  ]);

/** Compiles a source. @throws Error with what the compiler said */
async function checks(folder: string, compile: Compile): Promise<(file: string) => Promise<void>> {
  await writeKit(join(folder, "kit"));
  await writeGenerated(join(folder, "generated"));
  const sources = await fetchAll(FIRMWARE_RECIPES, ROOT);
  const libraries = FIRMWARE_RECIPES.flatMap(({ library, include }) =>
    include.filter((below) => below !== "library").flatMap((below) => [
      "-isystem",
      join(sources.get(library) ?? "", below),
    ])
  );
  const args = [
    ..."-std=gnu11 -DESP_PLATFORM".split(" "),
    ...OWN_FLAGS,
    ...esp32Flags({ version: "1.0.0", commit: "0123456" }).own,
    '-DMBEDTLS_USER_CONFIG_FILE="mbedtls_user.h"',
    ...["esp32/main", "native"].map((below) => `-I${join(ROOT, "micro/hosts", below)}`),
    ...[`-I${join(folder, "generated")}`, "-isystem", join(folder, "kit"), ...libraries],
  ];
  return async (file) => {
    await compile([...args, file]);
  };
}

async function compileAll(folder: string, compile: Compile): Promise<void> {
  const files = await Promise.all(
    ["esp32/main", "device", "native"].map((below) => sourcesOf(join(ROOT, "micro/hosts", below))),
  );
  assert.ok(files.every((each) => each.length > 0));
  await forEachAtOnce(files.flat(), await checks(folder, compile));
}

Deno.test({
  name: "ESP32 host: every source compiles against the declarations of the kit",
  ignore,
  fn: () =>
    inFolder(async (folder) => {
      await compileAll(folder, forArm);
      await compileAll(folder, await forRiscv(folder));
    }),
});

Deno.test({
  name: "ESP32 host: every source compiles for an Xtensa likewise",
  ignore: ignoreBecause(import.meta.url, missingTools("xtensa") ?? await noSourcesBecause()),
  fn: () => inFolder((folder) => compileAll(folder, forXtensa(folder))),
});

Deno.test({
  name: "ESP32 host: a call that the kit does not have that way is found",
  ignore,
  fn: () =>
    inFolder(async (folder) => {
      const check = await checks(folder, forArm);
      const text = await Deno.readTextFile(join(HOST, "main/chip.c"));
      const wrong = join(folder, "chip.c");
      await Deno.writeTextFile(
        wrong,
        text.replace("erase_range(part, at, length)", "erase_range(part, length)")
          .replaceAll('"../../', `"${ROOT}/micro/hosts/`),
      );
      await assert.rejects(check(wrong), /too few arguments/);
    }),
});

Deno.test({
  name: "ESP32 host: the resolver and a task of lwIP's share an answer, whoever leaves first",
  ignore: ignoreBecause(import.meta.url, await noSourcesBecause()),
  fn: () =>
    inFolder(async (folder) => {
      await writeKit(join(folder, "kit"));
      const sources = await fetchAll(FIRMWARE_RECIPES, ROOT);
      const lwip = join(sources.get(LIBRARIES.lwip) ?? "", "include");
      const source = join(ROOT, "tests/build/esp_idf/resolver");
      const program = join(folder, "resolver");
      const compiler = await zigToolchain(ROOT, await findZig(ROOT), ownTarget());
      await compiler.compile([
        ...[...COMMON, "-Os", "-D_GNU_SOURCE", "-DLWIP_DONT_PROVIDE_BYTEORDER_FUNCTIONS"],
        ...[`-I${source}`, "-isystem", join(folder, "kit"), "-isystem", lwip],
        ...["-c", join(source, "main.c"), "-o", `${program}.o`],
      ]);
      // As the program is linked, whose C library is made by then.
      await compiler.compile(["-Wl,--gc-sections", `${program}.o`, "-static", "-s", "-o", program]);
      await run(program, []);
    }),
});

interface Part {
  readonly name: string;
  readonly type: string;
  readonly start: number;
  readonly size: number;
}

async function partitions(): Promise<Part[]> {
  const text = await Deno.readTextFile(join(HOST, "partitions.csv"));
  return text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => {
    const [name = "", type = "", , start, size] = line.split(",").map((field) => field.trim());
    return { name, type, start: Number(start), size: Number(size) };
  });
}

Deno.test("ESP32 host: the partitions fit into a chip of 8 MB and have what the program needs", async () => {
  const parts = await partitions();
  let end = 0x9000;
  for (const { name, type, start, size } of parts) {
    assert.ok(start >= end, `${name} begins in the one before`);
    assert.equal(start % (type === "app" ? IMAGE_ALIGNMENT : 4096), 0, name);
    end = start + size;
  }
  assert.ok(end <= 8 * MIB);
  assert.deepEqual(parts.filter(({ type }) => type === "app").map(({ size }) => size), [
    3 * MIB,
    3 * MIB,
  ]);
  const values = parts.find(({ name }) => name === "machine");
  assert.equal(values?.start, VALUES_AT);
  assert.equal(values.size, storeImage({}).length);
});

/** An `idf.py` that writes down what it was given, and an image. */
const IMITATED = `#!/bin/sh
[ "$1" = --version ] && { echo "ESP-IDF \${VERSION_SAID:-v5.4.1}"; exit 0; }
test -f "$MICRO_GENERATED/bytecode.h" && test -f "$MICRO_QUICKJS/quickjs.c" &&
  test -f "$MICRO_MONOCYPHER/optional/monocypher-ed25519.c" || exit 1
test -f "$2/CMakeLists.txt" || exit 1
mkdir -p "$4" && printf image > "$4/machine-micro-server.bin"
echo "asked: $*"
`;

async function make(
  folder: string,
  env: Record<string, string>,
  args: readonly string[] = [],
): Promise<{ code: number; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", "--quiet", join(ROOT, "tools/micro/esp32/main.ts"), ...args],
    env: { PATH: `${folder}:${Deno.env.get("PATH")}`, IDF_PATH: "", ...env },
  }).output();
  return { code, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}

Deno.test("make micro-esp32: says what to install where the kit is not there, or another one", () =>
  inFolder(async (folder) => {
    const none = await make(folder, {});
    assert.equal(none.code, 1);
    assert.match(none.said, /IDF_PATH is not set. Install ESP-IDF 5.3 to 5.5/);
    const halfway = await make(folder, { IDF_PATH: folder, PATH: folder });
    assert.match(halfway.said, /idf.py does not run.*export.sh/);
    await Deno.writeTextFile(join(folder, "idf.py"), IMITATED, { mode: 0o755 });
    const newer = await make(folder, { IDF_PATH: folder, VERSION_SAID: "v6.0" });
    assert.match(newer.said, /this is ESP-IDF v6.0/);
  }));

Deno.test({
  name: "make micro-esp32: gives the kit the sources, and makes the values of a device",
  ignore: ignoreBecause(import.meta.url, await noSourcesBecause()),
  fn: () =>
    inFolder(async (folder) => {
      await Deno.writeTextFile(join(folder, "idf.py"), IMITATED, { mode: 0o755 });
      const credentials = join(folder, "machine.json");
      await Deno.writeTextFile(
        credentials,
        JSON.stringify({ cloud: { app_address: "http://127.0.0.1:1", id: "a", secret: "b" } }),
      );
      const { code, said } = await make(
        folder,
        { IDF_PATH: folder, WIFI_PASSWORD: "a word" },
        ["--output", folder, "--credentials", credentials, "--wifi-ssid", "home"],
      );
      assert.equal(code, 0, said);
      assert.match(said, /IDF_TARGET=esp32s3 build/);
      assert.match(said, /write_flash 0x620000 .*machine-micro-server-esp32s3.values/);
      const values = join(folder, "machine-micro-server-esp32s3.values");
      const text = new TextDecoder("latin1").decode(await Deno.readFile(values));
      assert.match(text, /wifi-ssid\0+home.*wifi-password\0+a word/s);
    }),
});
