import { nativeProgram } from "./program.ts";

Object.assign(globalThis, { machineMicro: nativeProgram() });
