import { systemClock } from "../../shared/base/time/clock.ts";
import type { ProgramDeps } from "./program.ts";

const nobody = () => Promise.reject(new Error("there is nobody to answer a prompt"));

/** For whoever only looks at the commands, or runs them where nobody is at a terminal. */
export const IDLE_DEPS: ProgramDeps = {
  env: () => undefined,
  ask: nobody,
  browser: {
    clock: systemClock,
    isInteractive: false,
    open: () => Promise.resolve(false),
    tell: () => {},
    computer: "",
  },
  openEditor: nobody,
  readInput: nobody,
  keyboard: {
    isTerminal: false,
    setRaw: () => {},
    size: () => undefined,
    onResize: () => () => {},
    async *read() {},
  },
  stop: new AbortController().signal,
};
