/** Asks something that moves for the positions of its joints. */
import { driverMethod } from "../graph/driver.ts";
import type { CallContext, Resource } from "../graph/resource.ts";

/** The methods that report positions, and where in their answer: arm, gantry, gripper. */
const TELLING: readonly {
  readonly method: string;
  readonly of: (answer: Answer) => number[] | undefined;
}[] = [
  { method: "getJointPositions", of: ({ positions }) => positions?.values },
  { method: "getCurrentInputs", of: ({ values }) => values },
  { method: "getPosition", of: ({ positionsMm }) => positionsMm },
];

interface Answer {
  readonly positions?: { readonly values: number[] };
  readonly values?: number[];
  readonly positionsMm?: number[];
}

/** Degrees, or millimetres for joints that slide; base first. */
export async function currentPositions(resource: Resource, call: CallContext): Promise<number[]> {
  for (const { method, of } of TELLING) {
    const tell = driverMethod(resource, method);
    if (tell) return of(await tell.call(resource, {}, call) as Answer) ?? [];
  }
  return [];
}
