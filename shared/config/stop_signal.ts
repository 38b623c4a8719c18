/** The `stop_signal` of a process. */

/** Signals that a program can be sent, by their numbers on Linux. */
const SIGNALS: Readonly<Record<string, number>> = {
  ...{ HUP: 1, INT: 2, QUIT: 3, ILL: 4, TRAP: 5, ABRT: 6, BUS: 7, FPE: 8, KILL: 9, USR1: 10 },
  ...{ SEGV: 11, USR2: 12, PIPE: 13, ALRM: 14, TERM: 15, CHLD: 17, CONT: 18, STOP: 19 },
  ...{ TSTP: 20, TTIN: 21, TTOU: 22, URG: 23, XCPU: 24, XFSZ: 25, VTALRM: 26, PROF: 27 },
  ...{ WINCH: 28, IO: 29, PWR: 30, SYS: 31 },
};

/** What a signal may be, for error messages. */
export const SIGNAL_ALLOWED = "TERM, SIGINT or another name, or its number from 1 to 31";

/** A signal that a program can be sent. */
export interface StopSignal {
  /** `SIGTERM` */
  readonly name: string;
  /** On Linux. */
  readonly number: number;
}

/**
 * Reads 15, "15", "TERM", "term" or "SIGTERM". 0 and "" stand for the usual one, SIGTERM.
 *
 * @returns undefined when there is no such signal
 */
export function parseSignal(signal: string | number): StopSignal | undefined {
  const text = String(signal).toUpperCase().replace(/^SIG/, "");
  const wanted = /^\d+$/.test(text) ? Number(text) : SIGNALS[text];
  const number = text === "" || wanted === 0 ? 15 : wanted;
  const name = Object.keys(SIGNALS).find((known) => SIGNALS[known] === number);
  return name === undefined || number === undefined ? undefined : { name: `SIG${name}`, number };
}
