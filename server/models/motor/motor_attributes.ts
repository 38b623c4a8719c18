export interface GpioMotorAttributes {
  board: string;
  pins: GpioMotorPins;
  encoder: string | undefined;
  ticks_per_rotation: number | undefined;
  max_rpm: number | undefined;
  min_power_pct: number | undefined;
  max_power_pct: number | undefined;
  pwm_freq: number | undefined;
  dir_flip: boolean | undefined;
  ramp_rate: number | undefined;
  control_parameters: ControlParameters | undefined;
  stall_timeout: number | undefined;
}

/** Pins of the board. */
export interface GpioMotorPins {
  a: string | undefined;
  b: string | undefined;
  dir: string | undefined;
  pwm: string | undefined;
  en_high: string | undefined;
  en_low: string | undefined;
}

/** Power for each revolution that the motor is behind, for their sum over seconds, their change. */
export interface ControlParameters {
  p: number | undefined;
  i: number | undefined;
  d: number | undefined;
}

export interface GpioStepperAttributes {
  board: string;
  pins: {
    step: string;
    dir: string;
    en_high: string | undefined;
    en_low: string | undefined;
  };
  ticks_per_rotation: number;
  stepper_delay_usec: number | undefined;
}
