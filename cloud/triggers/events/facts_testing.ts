import { type EventFacts, TRANSITION } from "./facts.ts";

/** A part that came or went, for tests of what is done with events. */
export function transitionFacts(partId: string): EventFacts {
  const part = {
    partId,
    partName: "bench-main",
    machineId: "machine",
    machineName: "bench",
    locationId: "location",
    locationName: "Lab",
    organizationId: "organization",
    organizationName: "Test",
  };
  return { part, occurred: TRANSITION };
}
