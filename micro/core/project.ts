/** What the sources of a project of its own use, as `machine-micro` (`machine micro new NAME`). */
import type { Model } from "./resources/models.ts";

export type { Adc, Firmware, Flash, Gpio, Host, I2c, Pwm } from "./host/host.ts";
export { type Api, type Driver, type Resource } from "./resources/apis.ts";
export { AttributeError, Attributes } from "./resources/attributes.ts";
export { type Model, model, type ModelContext } from "./resources/models.ts";
export { RpcError } from "./rpc/errors.ts";

/** What a program has next to what is built in: the default export of a project's `program.ts`. */
export interface ProgramParts {
  readonly models?: readonly Model[];
}
