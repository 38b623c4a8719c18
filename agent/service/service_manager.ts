/** What the agent tells the service manager that started it, if one did. */
export interface ServiceManager {
  /** It works. Told once. */
  ready(): void;
  /** It ends, because it was told to or by itself. */
  stopping(): void;
  /** One line for people who ask the service manager. */
  status(text: string): void;
  /** It is still alive. */
  alive(): void;
  /** It must hear {@link alive} at least so often; undefined: it does not care. */
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
