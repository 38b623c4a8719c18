/** APIs that have a model `rdk:builtin:fake`. */
export const FAKE_APIS: readonly string[] = [
  "rdk:component:arm",
  "rdk:component:audio_in",
  "rdk:component:audio_out",
  "rdk:component:base",
  "rdk:component:board",
  "rdk:component:button",
  "rdk:component:camera",
  "rdk:component:encoder",
  "rdk:component:gantry",
  "rdk:component:generic",
  "rdk:component:gripper",
  "rdk:component:input_controller",
  "rdk:component:motor",
  "rdk:component:movement_sensor",
  "rdk:component:pose_tracker",
  "rdk:component:power_sensor",
  "rdk:component:sensor",
  "rdk:component:servo",
  "rdk:component:switch",
  "rdk:service:discovery",
  "rdk:service:generic",
  "rdk:service:slam",
  "rdk:service:video",
  "rdk:service:vision",
  "rdk:service:world_state_store",
];

/** What fakes use of other resources, by their API. */
export const FAKE_WEAK_DEPENDENCIES: Readonly<Record<string, readonly string[]>> = {
  "rdk:service:vision": ["rdk:component:camera"],
};
