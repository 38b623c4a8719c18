export const CONTROL_MODES = [
  "arrowControl",
  "triggerSpeedControl",
  "buttonControl",
  "joyStickControl",
  "droneControl",
] as const;

export type ControlMode = typeof CONTROL_MODES[number];

export interface RemoteControlAttributes {
  base: string;
  input_controller: string;
  control_mode: ControlMode | undefined;
  max_angular_degs_per_sec: number | undefined;
  max_linear_mm_per_sec: number | undefined;
}
