import { type Running, start, type StartOptions } from "../../core/main.ts";
import { textOf } from "../../core/rpc/errors.ts";
import type { ProgramParts } from "../../core/project.ts";
import { nativeHost } from "./host.ts";
import type { Dispatch, Native } from "./native.ts";

/**
 * What the C part calls once, with its functions and the options as JSON. Gives the function that
 * takes the events, or undefined when the machine cannot start; why was logged.
 */
export function nativeProgram(
  parts: ProgramParts = {},
  updateKey?: Uint8Array,
): (native: Native, optionsText: string) => Dispatch | undefined {
  return (native, optionsText) => {
    const options = JSON.parse(optionsText) as StartOptions & { debug: boolean };
    let running: Running | undefined;
    const onStop = () => running?.stop();
    const { host, dispatch } = nativeHost(native, { ...options, onStop });
    try {
      running = start(host, {
        ...options,
        ...parts,
        ...(updateKey === undefined ? {} : { updateKey }),
      });
    } catch (error) {
      native.log(`machine-micro-server: ${textOf(error)}`);
      return undefined;
    }
    return dispatch;
  };
}
