export interface GpioServoAttributes {
  board: string;
  pin: string;
  min_angle_deg: number | undefined;
  max_angle_deg: number | undefined;
  starting_position_deg: number | undefined;
  frequency_hz: number | undefined;
  min_width_us: number | undefined;
  max_width_us: number | undefined;
}
