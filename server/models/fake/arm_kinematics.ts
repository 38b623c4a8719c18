/** Arms whose lengths their maker has published, as Denavit-Hartenberg parameters. */
import type { JsonObject } from "@bufbuild/protobuf";

const QUARTER = Math.PI / 2;

/** Millimetres: d1, a2, a3, d4, d5, d6. */
const UNIVERSAL_ROBOTS: Readonly<Record<string, readonly number[]>> = {
  ur5e: [162.5, -425, -392.2, 133.3, 99.7, 99.6],
  ur20: [236.3, -862, -728.7, 201, 159.3, 154.3],
};

/** The family's JSON for that arm; undefined where its lengths are not known here. */
export function knownKinematics(model: string | undefined): JsonObject | undefined {
  const lengths = model === undefined ? undefined : UNIVERSAL_ROBOTS[model];
  if (!lengths) return undefined;
  const [d1 = 0, a2 = 0, a3 = 0, d4 = 0, d5 = 0, d6 = 0] = lengths;
  const links: [id: string, a: number, d: number, alpha: number][] = [
    ["base", 0, d1, QUARTER],
    ["shoulder", a2, 0, 0],
    ["elbow", a3, 0, 0],
    ["wrist_1", 0, d4, QUARTER],
    ["wrist_2", 0, d5, -QUARTER],
    ["ee", 0, d6, 0],
  ];
  return {
    name: model!,
    kinematic_param_type: "DH",
    dhParams: links.map(([id, a, d, alpha], at) => {
      const limit = id === "elbow" ? 180 : 360;
      const parent = links[at - 1]?.[0] ?? "world";
      return { id, parent, a, d, alpha, min: -limit, max: limit };
    }),
  };
}
