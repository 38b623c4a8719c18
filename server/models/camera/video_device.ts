/** What a camera of this host can do, and its controls. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import {
  isKernelError,
  type Kernel,
  KernelError,
  O_CLOEXEC,
  O_NONBLOCK,
  O_RDWR,
  type SlowFile,
} from "../kernel/kernel.ts";
import { streamProblem } from "./stream_problem.ts";
import { listControls, listFormats, type VideoControl, writeControl } from "./v4l2.ts";

/** A camera that hangs takes seconds for each control. Milliseconds. */
const LIMIT_MS = 10_000;

/** Opens the device for each use: another program may stream from it meanwhile. */
export class VideoDevice {
  /** One use at a time: each takes a thread. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly kernel: () => Kernel,
    private readonly path: string,
    private readonly clock: Clock,
    /** Paths of cameras with a call that hangs; those that share it leave these cameras alone. */
    private readonly hanging: Set<string>,
  ) {}

  /**
   * Sets controls by their names; those that switch others on and off come first.
   *
   * @param where they stand, for errors.
   * @throws {AttributeError} for one that there is not, or a value that it does not take.
   */
  async set(
    wanted: Readonly<Record<string, number>>,
    where: string,
    signal: AbortSignal,
  ): Promise<void> {
    await this.#use(signal, async (camera) => {
      const { controls: known, problem } = await listControls(camera, new Set(Object.keys(wanted)));
      const settings = Object.entries(wanted).map(([name, value]) => {
        const control = known.find((control) => control.name === name);
        if (!control && problem !== undefined) throw new Error(`${where}.${name}: ${problem}`);
        if (!control || control.readOnly) {
          const names = known.filter(({ readOnly }) => !readOnly).map(({ name }) => name);
          throw new AttributeError(where, name, `a control of it: ${names.join(", ") || "none"}`);
        }
        const { minimum, maximum, menu } = control;
        const fits = Number.isInteger(value) && value >= minimum && value <= maximum;
        if (!fits || (control.kind === "menu" && !menu.has(value))) {
          throw new AttributeError(`${where}.${name}`, String(value), allowed(control));
        }
        return { control, value };
      });
      const isSwitch = ({ control }: { control: VideoControl }) => control.kind !== "integer";
      const inOrder = [...settings.filter(isSwitch), ...settings.filter((one) => !isSwitch(one))];
      for (const { control: { id, name }, value } of inOrder) {
        signal.throwIfAborted();
        try {
          await writeControl(camera, id, value);
        } catch (error) {
          throw new Error(
            `${where}.${name} cannot be set to ${value} (${
              toError(error).message
            }); another control may decide, such as an automatic one`,
          );
        }
      }
    });
  }

  /**
   * `{"formats": true}`, `{"controls": true}` or `{"set_controls": {"brightness": 10}}`.
   *
   * @throws {ConnectError} INVALID_ARGUMENT for anything else.
   */
  async run(command: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    const { set_controls: wanted } = command;
    if (isJsonObject(wanted)) {
      try {
        await this.set(numbersOf(wanted, "set_controls"), "set_controls", signal);
      } catch (error) {
        if (!(error instanceof AttributeError)) throw error;
        throw new ConnectError(error.message, Code.InvalidArgument);
      }
    } else if (command["formats"] === true) {
      const formats = await this.#use(signal, listFormats);
      return {
        formats: formats.map(({ size, frameRates, ...format }) => ({
          ...format,
          ...(size && { width_px: size.width, height_px: size.height }),
          frame_rates: [...frameRates],
        })),
      };
    } else if (command["controls"] !== true) {
      throw new ConnectError(
        'a webcam knows the commands {"formats": true}, {"controls": true} and ' +
          '{"set_controls": {"brightness": 10}}',
        Code.InvalidArgument,
      );
    }
    const { controls, problem } = await this.#use(signal, (camera) => listControls(camera));
    return {
      controls: Object.fromEntries(controls.map((control) => [control.name, shown(control)])),
      ...(problem !== undefined && { problem }),
    };
  }

  /** Who leaves while the camera is busy waits no longer; the next use waits until it is done. */
  async #use<T>(signal: AbortSignal, work: (camera: SlowFile) => Promise<T>): Promise<T> {
    const result = this.#last.then(() => {
      signal.throwIfAborted();
      return this.#useNow(work);
    });
    this.#last = result.catch(() => undefined);
    const left = Promise.withResolvers<never>();
    const leave = () => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    if (signal.aborted) leave();
    try {
      return await Promise.race([result, left.promise]);
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async #useNow<T>(work: (camera: SlowFile) => Promise<T>): Promise<T> {
    if (this.hanging.has(this.path)) {
      throw new Error(`${this.path} still hangs; plug it out and in again`);
    }
    const camera = this.kernel().slowFile(this.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const late = Promise.withResolvers<never>();
    const timer = this.clock.setTimer(LIMIT_MS, () => {
      this.hanging.add(this.path);
      const seconds = LIMIT_MS / 1_000;
      const hangs =
        `${this.path} hangs: it took longer than ${seconds} s; plug it out and in again`;
      late.reject(new Error(hangs));
    });
    try {
      const result = await Promise.race([work(camera), late.promise]);
      await Promise.race([camera.close(), late.promise]);
      return result;
    } catch (error) {
      // A call that hangs is left to its thread, which closes the file then.
      void camera.close().finally(() => this.hanging.delete(this.path));
      const isGone = error instanceof KernelError &&
        (error.call.startsWith("open ") || isKernelError(error, "ENODEV", "ENXIO"));
      throw isGone ? new Error(streamProblem(error.message, [])) : error;
    } finally {
      timer.cancel();
    }
  }
}

/** @throws {AttributeError} for values that are none of a control. */
function numbersOf(wanted: JsonObject, where: string): Record<string, number> {
  const number = ([name, value]: [string, JsonValue]): [string, number] => {
    if (typeof value === "number" || typeof value === "boolean") return [name, Number(value)];
    throw new AttributeError(`${where}.${name}`, JSON.stringify(value), "a number, true or false");
  };
  return Object.fromEntries(Object.entries(wanted).map(number));
}

function allowed({ kind, minimum, maximum, menu }: VideoControl): string {
  if (kind !== "menu") return `a whole number from ${minimum} to ${maximum}`;
  return [...menu].map(([value, text]) => `${value} (${text})`).join(", ");
}

function shown({ kind, value, minimum, maximum, step, menu, ...more }: VideoControl): JsonObject {
  return {
    ...{ kind, ...(value !== undefined && { value }), default: more.default },
    ...(kind === "menu"
      ? { menu: Object.fromEntries([...menu].map(([value, text]) => [String(value), text])) }
      : { minimum, maximum, step }),
    ...(more.readOnly && { read_only: true }),
    ...(more.inactive && { inactive: true }),
  };
}
