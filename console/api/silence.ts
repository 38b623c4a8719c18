/** The cloud reports something of a fleet every ten seconds. */
export const FLEET_SILENCE_MS = 25_000;
