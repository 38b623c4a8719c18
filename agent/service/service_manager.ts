/** What the agent reports to the service manager that started it, if one did. */
export interface ServiceManager {
  /** It works. Reported once. */
  ready(): void;
  /** It exits, on request or on its own. */
  stopping(): void;
  /** One line for people who ask the service manager. */
  status(text: string): void;
  /** It is still alive. */
  alive(): void;
  /** It must receive {@link alive} at least so often; undefined: it does not care. */
  readonly watchdogMs: number | undefined;
}

/** Nobody started it, or somebody who does not listen. */
export const noServiceManager: ServiceManager = {
  ready() {},
  stopping() {},
  status() {},
  alive() {},
  watchdogMs: undefined,
};
