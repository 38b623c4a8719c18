/** Hardware PWM through /sys/class/pwm. */
import { Code, ConnectError } from "@connectrpc/connect";
import { isKernelError, type Kernel } from "../kernel/kernel.ts";

const NS_PER_SECOND = 1_000_000_000;

/** One output of a PWM chip. */
export class SysfsPwm {
  readonly #folder: string;
  #periodNs = 0;

  /**
   * @param chip "/sys/class/pwm/pwmchip0"
   * @param id output of the chip.
   * @throws {ConnectError} when there is none, or no permission.
   */
  constructor(private readonly kernel: Kernel, chip: string, id: number) {
    this.#folder = `${chip}/pwm${id}`;
    if (kernel.list(this.#folder).length > 0) return;
    try {
      kernel.writeText(`${chip}/export`, String(id));
    } catch (error) {
      // It is there already: a server that was killed has left it.
      if (isKernelError(error, "EBUSY")) return;
      const why = isKernelError(error, "ENOENT")
        ? `there is no PWM chip ${chip}; see that its device tree overlay is loaded`
        : isKernelError(error, "EACCES", "EPERM")
        ? `no permission to use ${chip}; run the server as root`
        : `${chip} has no output ${id}, or it is in use`;
      throw new ConnectError(why, Code.FailedPrecondition, undefined, undefined, error);
    }
  }

  /** @param duty part of the time that it is high, 0 to 1. */
  set(frequencyHz: number, duty: number): void {
    const periodNs = Math.round(NS_PER_SECOND / frequencyHz);
    if (periodNs !== this.#periodNs) {
      // The kernel refuses a period shorter than the time it is high.
      if (this.#periodNs !== 0) this.#write("duty_cycle", 0);
      this.#write("period", periodNs);
      this.#periodNs = periodNs;
    }
    this.#write("duty_cycle", Math.round(duty * periodNs));
    this.#write("enable", 1);
  }

  /** Switches it off. */
  close(): void {
    if (this.#periodNs === 0) return;
    this.#write("duty_cycle", 0);
    this.#write("enable", 0);
  }

  #write(file: string, value: number): void {
    this.kernel.writeText(`${this.#folder}/${file}`, String(value));
  }
}
