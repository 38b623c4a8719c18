/**
 * The functions that the C part of a host gives the script (`bindings.c`). Ids are of the C part; what
 * happens later comes as events to the function that `machineMicro` returns.
 */
export interface Native {
  now(): number;
  wallClock(): number;
  random(length: number): Uint8Array;
  setTimer(ms: number): number;
  clearTimer(id: number): void;

  /** 0 when there are too many connections. */
  connect(host: string, port: number, tls: boolean, serverName: string): number;
  write(id: number, bytes: Uint8Array): boolean;
  end(id: number): void;
  destroy(id: number): void;
  /** Gives id and port. */
  listen(port: number, certificate?: string, privateKey?: string): [number, number];
  closeListener(id: number): void;
  localAddress(): string | undefined;

  flashRead(key: string): Uint8Array | undefined;
  flashWrite(key: string, bytes: Uint8Array): void;
  flashRemove(key: string): void;
  readonly largestValue: number;
  sha256(bytes: Uint8Array): Uint8Array;
  verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;
  memoryUsed(): number;
  memoryLimit(): number;
  watchdog(ms: number): void;
  log(line: string): void;
  restart(): void;

  firmwareConfirmed(): boolean;
  firmwareBegin(size: number): void;
  firmwareWrite(bytes: Uint8Array): void;
  firmwareDigest(): Uint8Array;
  firmwareFinish(activate: boolean): void;
  firmwareConfirm(): void;
  firmwareRollBack(): void;

  readonly hasGpio: boolean;
  /** Modes: 0 in, 1 in-pull-up, 2 in-pull-down, 3 out. */
  gpioMode(pin: string, mode: number): void;
  gpioRead(pin: string): boolean;
  gpioWrite(pin: string, high: boolean): void;
  gpioWatch(pin: string): number;
  gpioUnwatch(id: number): void;
  readonly hasI2c: boolean;
  i2cTransfer(bus: string, address: number, write: Uint8Array, readLength: number): Uint8Array;
  readonly hasAdc: boolean;
  /** Gives steps, and the least, the largest and a step in volts. */
  adcRead(pin: string): [number, number, number, number];
  readonly hasPwm: boolean;
  pwmSet(pin: string, frequencyHz: number, duty: number): void;
}

/** Kinds of events, as in `platform.h`. */
export const EVENT = {
  timer: 0,
  open: 1,
  data: 2,
  drain: 3,
  end: 4,
  error: 5,
  accept: 6,
  pin: 7,
  stop: 8,
} as const;

/**
 * Takes an event. `id` is a timer's, a connection's, or (accept, pin) a listener's or a watch's.
 *
 * @param first data: the bytes; error: the text; accept: the peer's address; pin: 1 for high.
 * @param second accept: the connection's id; pin: the time in microseconds.
 */
export type Dispatch = (
  kind: number,
  id: number,
  first: Uint8Array | string | number | undefined,
  second: number | undefined,
) => void;
