/** In which options are counted. */
export const KIB = 1024;
export const MIB = 1024 * KIB;
export const MINUTE_MS = 60_000;
