import type { Terminal } from "./terminal.ts";

/** No terminal at all: a file or a pipe. */
export const NO_TERMINAL: Terminal = {
  isOutput: false,
  isInput: false,
  isError: false,
  columns: undefined,
  colours: false,
  draw: () => {},
};
