export interface WheeledBaseAttributes {
  left: string[];
  right: string[];
  width_mm: number;
  wheel_circumference_mm: number;
  spin_slip_factor: number | undefined;
}

/** Power for each unit that a velocity is off, for their sum over seconds, their change. */
export interface VelocityParameters {
  type: "linear_velocity" | "angular_velocity";
  p: number;
  i: number;
  d: number;
}

export interface SensorControlledBaseAttributes {
  base: string;
  movement_sensor: string[];
  control_parameters: VelocityParameters[] | undefined;
  control_frequency_hz: number | undefined;
}

export interface WheeledOdometryAttributes {
  base: string;
  left_motors: string[];
  right_motors: string[];
  time_interval_msec: number | undefined;
}
