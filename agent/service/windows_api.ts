/** The parts of Windows that a service speaks with, in our words. */

/** SERVICE_* states. */
export const State = {
  stopped: 1,
  startPending: 2,
  stopPending: 3,
  running: 4,
} as const;

/** SERVICE_CONTROL_* codes. */
export const Control = { stop: 1, interrogate: 4, shutdown: 5, preshutdown: 15 } as const;

/** SERVICE_ACCEPT_* bits. */
export const Accept = { nothing: 0, stop: 1, shutdown: 4, preshutdown: 0x100 } as const;

/** Answers to a control, and exit codes. */
export const WindowsError = {
  none: 0,
  callNotImplemented: 120,
  /** The service has an exit code of its own. */
  serviceSpecific: 1066,
} as const;

/** SERVICE_STATUS without the type, which is always a process of its own. */
export interface ServiceStatus {
  readonly state: number;
  readonly accepts: number;
  readonly exitCode: number;
  /** Counts with {@link WindowsError.serviceSpecific}. */
  readonly specificCode: number;
  /** Grows while something is pending. */
  readonly checkPoint: number;
  /** The next report comes within this time. */
  readonly waitHintMs: number;
}

export interface ServiceHandlers {
  /** The service manager started the service. */
  started(): void;
  /** @returns a {@link WindowsError}. */
  control(code: number): number;
}

/** The service control manager. */
export interface ServiceControl {
  /**
   * Connects this process with the service manager. Resolves when the service was reported stopped.
   *
   * @throws Error when this process was not started as a service.
   */
  dispatch(name: string, handlers: ServiceHandlers): Promise<void>;
  report(status: ServiceStatus): void;
}

export type EventKind = "error" | "warning" | "information";

/** The Application event log. */
export interface EventLog {
  write(kind: EventKind, text: string): void;
  close(): void;
}
