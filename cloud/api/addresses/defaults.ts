/** Where `machine-cloud serve` listens unless set otherwise. */
export const DEFAULT_ADDRESS = "127.0.0.1:8080";
/** Domain of the machines' host names unless set otherwise. */
export const DEFAULT_DOMAIN = "machine.internal";
