import type { Kernel } from "./kernel.ts";
import { libcKernel } from "./libc_kernel.ts";
import { Poller } from "./poller.ts";

/** What drivers reach hardware with. */
export interface Hardware {
  readonly kernel: Kernel;
  readonly poller: Poller;
}

/** Whose hardware it is: the environment of the models. */
interface HardwareOwner {
  readonly kernel?: () => Kernel;
}

const opened = new WeakMap<HardwareOwner, Hardware>();

/**
 * That of this host; all drivers of a server share it.
 *
 * @throws {ConnectError} UNIMPLEMENTED where there is none.
 */
export function hostHardware(environment: HardwareOwner): Hardware {
  let hardware = opened.get(environment);
  if (!hardware) {
    const kernel = environment.kernel?.() ?? libcKernel();
    opened.set(environment, hardware = { kernel, poller: new Poller(kernel) });
  }
  return hardware;
}
