/** The demo's rover: it drives in a room that is drawn, on a board that is simulated. */
const CAMERA = "camera";
const PINS = { left: { pwm: 1, dir: 2, a: 20, b: 21 }, right: { pwm: 3, dir: 4, a: 22, b: 23 } };
const SIDES = ["left", "right"] as const;
const TICKS = 200;
const MAX_RPM = 110;
const WHEEL_CIRCUMFERENCE_MM = 300;
const WHEEL_RADIUS_MM = Math.round(WHEEL_CIRCUMFERENCE_MM / 2 / Math.PI);

/** One method of a resource is captured, so many times a second. */
export function captured(method: string, capture_frequency_hz: number) {
  return {
    type: "rdk:service:data_manager",
    attributes: { capture_methods: [{ method, capture_frequency_hz }] },
  };
}

/** Components and services; the red ball lies behind where the rover begins. */
export const ROVER = {
  components: [
    {
      name: CAMERA,
      api: "rdk:component:camera",
      model: "rdk:builtin:simulated",
      attributes: {
        movement_sensor: "odometry",
        balls: [
          { x_m: -1.2, y_m: 2, radius_m: 0.25, color: "#2468E0" },
          { x_m: 1.1, y_m: 1.4, radius_m: 0.18, color: "#28A048" },
          { x_m: 0.3, y_m: -2, radius_m: 0.3, color: "#E01818" },
        ],
      },
      service_configs: [captured("ReadImage", 1 / 20)],
      // Above the front axle, looking ahead: z is where a camera looks.
      frame: {
        parent: "rover",
        translation: { x: 0, y: 150, z: 220 },
        orientation: { type: "ov_degrees", value: { x: 0, y: 1, z: 0, th: 0 } },
        geometry: { type: "capsule", r: 30, l: 110 },
      },
    },
    {
      name: "rover",
      api: "rdk:component:base",
      model: "rdk:builtin:wheeled",
      frame: {
        parent: "world",
        translation: { x: 0, y: 0, z: 90 },
        geometry: { type: "box", x: 300, y: 450, z: 120 },
      },
      attributes: {
        left: ["left"],
        right: ["right"],
        width_mm: 350,
        wheel_circumference_mm: WHEEL_CIRCUMFERENCE_MM,
      },
    },
    {
      name: "odometry",
      api: "rdk:component:movement_sensor",
      model: "rdk:builtin:wheeled-odometry",
      attributes: { base: "rover", left_motors: ["left"], right_motors: ["right"] },
    },
    ...SIDES.map((side) => ({
      name: side,
      api: "rdk:component:motor",
      model: "rdk:builtin:gpio",
      frame: {
        parent: "rover",
        translation: { x: side === "left" ? -175 : 175, y: 0, z: -42 },
        orientation: { type: "ov_degrees", value: { x: 1, y: 0, z: 0, th: 0 } },
        geometry: { type: "sphere", r: WHEEL_RADIUS_MM },
      },
      attributes: {
        board: "chassis",
        pins: { pwm: String(PINS[side].pwm), dir: String(PINS[side].dir) },
        encoder: `${side}-encoder`,
        ticks_per_rotation: TICKS,
        max_rpm: MAX_RPM,
      },
    })),
    ...SIDES.map((side) => ({
      name: `${side}-encoder`,
      api: "rdk:component:encoder",
      model: "rdk:builtin:incremental",
      attributes: { board: "chassis", pins: { a: `${side}-a`, b: `${side}-b` } },
    })),
    {
      name: "chassis",
      api: "rdk:component:board",
      model: "rdk:builtin:simulated",
      attributes: {
        digital_interrupts: SIDES.flatMap((side) => [
          { name: `${side}-a`, pin: String(PINS[side].a) },
          { name: `${side}-b`, pin: String(PINS[side].b) },
        ]),
        motors: SIDES.map((name) => ({
          ...{ name, pwm: PINS[name].pwm, dir: PINS[name].dir },
          ...{ encoder_a: PINS[name].a, encoder_b: PINS[name].b },
          ...{ max_rpm: MAX_RPM, ticks_per_rotation: TICKS },
        })),
      },
    },
  ],
  services: [
    {
      name: "navigation",
      api: "rdk:service:navigation",
      model: "rdk:builtin:builtin",
      attributes: { base: "rover", movement_sensor: "odometry" },
    },
    {
      name: "red-ball",
      api: "rdk:service:vision",
      model: "rdk:builtin:color_detector",
      attributes: {
        detect_color: "#E01818",
        hue_tolerance_pct: 0.04,
        saturation_cutoff_pct: 0.5,
        segment_size_px: 40,
        label: "red ball",
        camera_name: CAMERA,
      },
      service_configs: [captured("DetectionsFromCamera", 1)],
    },
    {
      name: "data",
      api: "rdk:service:data_manager",
      model: "rdk:builtin:builtin",
      attributes: { sync_interval_mins: 0.05 },
    },
  ],
};
