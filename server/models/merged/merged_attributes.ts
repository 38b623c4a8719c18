/** What a movement sensor measures, as the attributes name it. */
export const QUANTITIES = [
  "position",
  "orientation",
  "compass_heading",
  "angular_velocity",
  "linear_velocity",
  "linear_acceleration",
] as const;

export type Quantity = typeof QUANTITIES[number];

/** For each quantity the sensors it is asked of, best first. */
export type MergedAttributes = Record<Quantity, string[] | undefined>;
