import assert from "node:assert/strict";
import { isKernelError, O_NONBLOCK, O_RDONLY, O_RDWR } from "./kernel.ts";
import { ThreadFile } from "./slow_file.ts";

const ignore = Deno.build.os !== "linux";
/** RNDGETENTCNT of linux/random.h: a number of bits. */
const GET_BITS = 0x80045200;

Deno.test({
  name: "ThreadFile makes calls of the kernel and reports their errors",
  ignore,
  async fn() {
    const file = new ThreadFile("/dev/urandom", O_RDONLY);
    const bits = new Uint8Array(4).fill(0xff);
    assert.equal(await file.ioctl(GET_BITS, bits), 0);
    assert.ok(new DataView(bits.buffer).getInt32(0, true) >= 0);
    await assert.rejects(
      file.ioctl(0xc0445624, new Uint8Array(68)),
      (error) => isKernelError(error, "EINVAL", "ENOTTY"),
    );
    await file.close();
    await assert.rejects(file.ioctl(GET_BITS, bits), /was closed/);
    const none = new ThreadFile("/dev/none", O_RDWR | O_NONBLOCK);
    await assert.rejects(
      none.ioctl(GET_BITS, bits),
      (error) => isKernelError(error, "ENOENT") && error.call === "open /dev/none",
    );
    await none.close();
  },
});

Deno.test({
  name: "ThreadFile does not hold the server up while the kernel waits",
  ignore,
  async fn() {
    const folder = await Deno.makeTempDir();
    const path = `${folder}/pipe`;
    try {
      const { success } = await new Deno.Command("mkfifo", { args: [path] }).output();
      assert.ok(success);
      // To open it waits for somebody who writes.
      const file = new ThreadFile(path, O_RDONLY);
      const call = file.ioctl(GET_BITS, new Uint8Array(4));
      const refused = assert.rejects(call, (error) => isKernelError(error, "EINVAL", "ENOTTY"));
      const closed = file.close();
      const writer = await Deno.open(path, { write: true });
      await refused;
      await closed;
      writer.close();
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});
