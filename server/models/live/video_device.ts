/** What a camera of this host can do, and its controls. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { AttributeError } from "../../resources/graph/attributes.ts";
import { type Kernel, O_CLOEXEC, O_NONBLOCK, O_RDWR } from "../kernel/kernel.ts";
import { listControls, listFormats, type VideoControl, writeControl } from "./v4l2.ts";

/** Opens the device for each use: another program may stream from it meanwhile. */
export class VideoDevice {
  constructor(private readonly kernel: () => Kernel, private readonly path: string) {}

  /**
   * Sets controls by their names; those that switch others on and off come first.
   *
   * @param where they stand, for errors.
   * @throws {AttributeError} for one that there is not, or a value that it does not take.
   */
  set(wanted: Readonly<Record<string, number>>, where: string): void {
    this.#use((kernel, fd) => {
      const known = listControls(kernel, fd);
      const settings = Object.entries(wanted).map(([name, value]) => {
        const control = known.find((control) => control.name === name);
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
        try {
          writeControl(kernel, fd, id, value);
        } catch (error) {
          throw new Error(
            `${where}.${name} cannot be set to ${value} (${
              toError(error).message
            }); another control ` +
              "may decide, such as an automatic one",
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
  run(command: JsonObject): JsonObject {
    const { set_controls: wanted } = command;
    if (isJsonObject(wanted)) {
      const numbers = Object.fromEntries(
        Object.entries(wanted).map(([name, value]) => [name, Number(value)]),
      );
      try {
        this.set(numbers, "set_controls");
      } catch (error) {
        if (!(error instanceof AttributeError)) throw error;
        throw new ConnectError(error.message, Code.InvalidArgument);
      }
    } else if (command["formats"] === true) {
      const formats = this.#use(listFormats).map(({ width, height, frameRates, ...format }) => ({
        ...format,
        ...{ width_px: width, height_px: height, frame_rates: [...frameRates] },
      }));
      return { formats };
    } else if (command["controls"] !== true) {
      throw new ConnectError(
        'a webcam knows the commands {"formats": true}, {"controls": true} and ' +
          '{"set_controls": {"brightness": 10}}',
        Code.InvalidArgument,
      );
    }
    const controls = this.#use(listControls);
    return {
      controls: Object.fromEntries(controls.map((control) => [control.name, shown(control)])),
    };
  }

  #use<T>(work: (kernel: Kernel, fd: number) => T): T {
    const kernel = this.kernel();
    const fd = kernel.open(this.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    try {
      return work(kernel, fd);
    } finally {
      kernel.close(fd);
    }
  }
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
