/** Gamepads by the kernel's event devices, linux/input.h. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type {
  InputControllerService,
  StreamEventsRequest,
} from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Hardware } from "../kernel/host_hardware.ts";
import { isKernelError, type Kernel, O_CLOEXEC, O_NONBLOCK, O_RDONLY } from "../kernel/kernel.ts";
import { ControllerEvents } from "./controller_events.ts";
import { AXES, BUTTONS, EVENT, TRIGGERS } from "./controls.ts";
import type { GamepadAttributes } from "./input_attributes.ts";

const FOLDER = "/dev/input";
const EVENT_BYTES = 24;
const EV_KEY = 1;
const EV_ABS = 3;
const KEY_BITS_BYTES = 96;
const GET_KEY_BITS = 0x80604521;
const GET_ABS = 0x80184540;
const BTN_SOUTH = 0x130;
/** How often it is looked for while it is not there. Milliseconds. */
const LOOK_MS = 2_000;
const LOOKED_FOR = "it is looked for";

interface Axis {
  readonly min: number;
  readonly max: number;
}

export interface GamepadOptions extends Hardware {
  readonly clock: Clock;
  readonly attributes: GamepadAttributes;
  readonly log: Logger;
}

/** See {@link gamepadModel}. */
export class Gamepad implements Driver<typeof InputControllerService> {
  readonly #events: ControllerEvents;
  readonly #ending = new AbortController();
  readonly #running: Promise<void>;
  #problem: string | undefined = LOOKED_FOR;

  constructor(private readonly options: GamepadOptions) {
    this.#events = new ControllerEvents(options.clock);
    this.#running = this.#run();
  }

  getControls() {
    return { controls: [...AXES.values(), ...BUTTONS.values()] };
  }

  getEvents() {
    if (this.#problem !== undefined) throw new ConnectError(this.#problem, Code.Unavailable);
    return { events: this.#events.all };
  }

  streamEvents(request: StreamEventsRequest, call: CallContext) {
    return this.#events.stream(request, call);
  }

  /** Only its hands move it. */
  triggerEvent(): never {
    throw new ConnectError(
      "a gamepad is moved by hand; use the model webgamepad for events of programs",
      Code.Unimplemented,
    );
  }

  getStatus() {
    return {
      ...(this.#problem !== undefined && { error: this.#problem }),
      values: Object.fromEntries(this.#events.all.map(({ control, value }) => [control, value])),
    };
  }

  /** Why it cannot be used, once it was looked for. */
  problem(): string | undefined {
    return this.#problem === LOOKED_FOR ? undefined : this.#problem;
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    this.#events.close();
  }

  async #run(): Promise<void> {
    const { clock, attributes, log } = this.options;
    const turn = async (signal: AbortSignal) => {
      try {
        await this.#follow(signal);
      } catch (error) {
        const problem = reasonOf(error);
        if (problem !== this.#problem) log.warn(problem, { event: "device_failed" });
        this.#problem = problem;
        this.#events.disconnect();
      }
      if (attributes.auto_reconnect === false) return "done";
    };
    await pollLoop(turn, { clock, intervalMs: LOOK_MS }, this.#ending.signal);
  }

  /** Until it is unplugged, or the signal aborts. */
  async #follow(signal: AbortSignal): Promise<void> {
    const { kernel, poller } = this.options;
    const { path, fd } = openGamepad(kernel, this.options.attributes.dev_file);
    const axes = axesOf(kernel, fd);
    for (const name of [...axes.keys()].flatMap((code) => AXES.get(code) ?? [])) {
      this.#events.happen(name, EVENT.connect, 0);
    }
    this.#problem = undefined;
    this.options.log.info(`the gamepad is ${path}`);
    const ended = Promise.withResolvers<void>();
    const leave = () => ended.resolve();
    signal.addEventListener("abort", leave, { once: true });
    const buffer = new Uint8Array(EVENT_BYTES * 64);
    poller.watch(fd, () => {
      try {
        const length = kernel.read(fd, buffer);
        if (length === 0) throw new Error(`${path} was unplugged; plug it in again`);
        if (length !== undefined) this.#take(buffer.subarray(0, length), axes);
      } catch (error) {
        const gone = isKernelError(error, "ENODEV", "EIO");
        ended.reject(gone ? new Error(`${path} was unplugged; plug it in again`) : error);
        void poller.unwatch(fd);
      }
    });
    try {
      await ended.promise;
    } finally {
      signal.removeEventListener("abort", leave);
      await poller.unwatch(fd);
      kernel.close(fd);
      this.#events.disconnect();
    }
  }

  #take(bytes: Uint8Array, axes: ReadonlyMap<number, Axis>): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at + EVENT_BYTES <= bytes.length; at += EVENT_BYTES) {
      const [type, code] = [view.getUint16(at + 16, true), view.getUint16(at + 18, true)];
      const value = view.getInt32(at + 20, true);
      const button = type === EV_KEY ? BUTTONS.get(code) : undefined;
      // 2 is a repetition of a button that is held.
      if (button !== undefined && value < 2) {
        this.#events.happen(button, value === 1 ? EVENT.press : EVENT.release, value);
      }
      const axis = type === EV_ABS ? AXES.get(code) : undefined;
      const range = axes.get(code);
      if (axis !== undefined && range) {
        this.#events.happen(axis, EVENT.position, share(value, range, TRIGGERS.has(axis)));
      }
    }
  }
}

/** -1 to 1; of triggers 0 to 1. */
function share(value: number, { min, max }: Axis, isTrigger: boolean): number {
  const part = max > min ? (value - min) / (max - min) : 0;
  return isTrigger ? part : 2 * part - 1;
}

function axesOf(kernel: Kernel, fd: number): Map<number, Axis> {
  const axes = new Map<number, Axis>();
  for (const code of AXES.keys()) {
    const info = new Uint8Array(EVENT_BYTES);
    try {
      kernel.ioctl(fd, GET_ABS + code, info);
    } catch {
      continue; // it has no such axis
    }
    const view = new DataView(info.buffer);
    const axis = { min: view.getInt32(4, true), max: view.getInt32(8, true) };
    if (axis.max > axis.min) axes.set(code, axis);
  }
  return axes;
}

function openGamepad(kernel: Kernel, wanted: string | undefined): { path: string; fd: number } {
  const paths = wanted !== undefined
    ? [wanted]
    : kernel.list(FOLDER).filter((name) => name.startsWith("event")).map((name) =>
      `${FOLDER}/${name}`
    );
  const denied: string[] = [];
  for (const path of paths) {
    let fd: number;
    try {
      fd = kernel.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    } catch (error) {
      if (isKernelError(error, "EACCES", "EPERM")) denied.push(path);
      continue;
    }
    const bits = new Uint8Array(KEY_BITS_BYTES);
    try {
      kernel.ioctl(fd, GET_KEY_BITS, bits);
    } catch {
      bits.fill(0);
    }
    if (((bits[BTN_SOUTH >> 3]! >> (BTN_SOUTH & 7)) & 1) === 1) return { path, fd };
    kernel.close(fd);
  }
  if (denied.length > 0) {
    throw new Error(
      `no permission to use ${denied.join(", ")}; run the server as root, or as a user in the ` +
        "group input",
    );
  }
  throw new Error(
    wanted === undefined
      ? "there is no gamepad on this host; plug one in, or pair it"
      : `${wanted} is no gamepad; see /proc/bus/input/devices for which file it has`,
  );
}
