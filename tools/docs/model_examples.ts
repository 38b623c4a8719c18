/** A resource of each model, for `docs/models.md`. */
import type { JsonObject } from "@bufbuild/protobuf";

/** A resource of the documentation, without API and model. */
export interface ModelExample {
  readonly name: string;
  /** Default: none; all of them may be left out. */
  readonly attributes?: JsonObject;
}

const REPLAYED = {
  source: "front",
  robot_id: "7c0e4a52-3a9e-4b0f-9d53-0c7d5a6f1f10",
  location_id: "hall-2",
  organization_id: "3f1c9d6e-1f5b-4a53-8a5e-6f0a8c7b2d41",
  interval: { start: "2026-01-05T08:00:00Z" },
  api_key_id: "b6f2c1de-92aa-4c4e-8f39-1f2f0f6f7a55",
  api_key: "a-key-that-may-read-data",
};

/** By API and model. Names that they mention are those of other examples here. */
export const MODEL_EXAMPLES: Readonly<Record<string, ModelExample>> = {
  "rdk:component:arm rdk:builtin:fake": {
    name: "lifter",
    attributes: { "arm-model": "ur5e" },
  },
  "rdk:component:audio_in rdk:builtin:fake": { name: "ear", attributes: { frequency_hz: 880 } },
  "rdk:component:audio_out rdk:builtin:fake": { name: "voice" },
  "rdk:component:base rdk:builtin:fake": { name: "cart", attributes: { width_mm: 300 } },
  "rdk:component:base rdk:builtin:sensor-controlled": {
    name: "steady-rover",
    attributes: { base: "rover", movement_sensor: ["odometry"], control_frequency_hz: 20 },
  },
  "rdk:component:base rdk:builtin:wheeled": {
    name: "rover",
    attributes: {
      ...{ left: ["left"], right: ["right"] },
      ...{ width_mm: 200, wheel_circumference_mm: 300 },
    },
  },
  "rdk:component:board rdk:builtin:fake": {
    name: "pins",
    attributes: {
      analogs: [{ name: "battery", pin: "1", result: 700 }],
      digital_interrupts: [{ name: "door", pin: "2" }],
    },
  },
  "rdk:component:board rdk:builtin:linux": {
    name: "header",
    attributes: { digital_interrupts: [{ name: "door", pin: "17", bias: "pull_up" }] },
  },
  "rdk:component:board rdk:builtin:simulated": {
    name: "chassis",
    attributes: {
      digital_interrupts: [
        { name: "left-a", pin: "20" },
        { name: "left-b", pin: "21" },
        { name: "wheel-i", pin: "22" },
      ],
      motors: [
        { name: "left", pwm: 1, dir: 2, encoder_a: 20, encoder_b: 21, max_rpm: 200 },
      ],
    },
  },
  "rdk:component:button rdk:builtin:fake": { name: "bell" },
  "rdk:component:camera rdk:builtin:fake": {
    name: "pattern",
    attributes: { width: 640, height: 480, animated: true },
  },
  "rdk:component:camera rdk:builtin:http": {
    name: "gate",
    attributes: { url: "http://10.0.0.20/snapshot.jpg", interval: "500ms" },
  },
  "rdk:component:camera rdk:builtin:image_file": {
    name: "poster",
    attributes: { color_image_file_path: "/var/lib/pictures/poster.jpg" },
  },
  "rdk:component:camera rdk:builtin:replay": { name: "past-front", attributes: REPLAYED },
  "rdk:component:camera rdk:builtin:replay_pcd": {
    name: "past-lidar",
    attributes: { ...REPLAYED, source: "lidar" },
  },
  "rdk:component:camera rdk:builtin:rtsp": {
    name: "hall",
    attributes: { rtsp_address: "rtsp://viewer:secret@10.0.0.21/stream1" },
  },
  "rdk:component:camera rdk:builtin:screen": {
    name: "desk",
    attributes: { display: ":0", frame_rate: 5 },
  },
  "rdk:component:camera rdk:builtin:simulated": {
    name: "front",
    attributes: {
      movement_sensor: "odometry",
      balls: [{ x_m: 0, y_m: 2, radius_m: 0.2, color: "#E01010" }],
    },
  },
  "rdk:component:camera rdk:builtin:transform": {
    name: "small-front",
    attributes: {
      source: "front",
      pipeline: [
        { type: "rotate", attributes: { angle_degs: 180 } },
        { type: "resize", attributes: { width_px: 320, height_px: 180 } },
      ],
    },
  },
  "rdk:component:camera rdk:builtin:webcam": {
    name: "usb",
    attributes: { video_path: "video0", width_px: 1280, height_px: 720 },
  },
  "rdk:component:encoder rdk:builtin:fake": {
    name: "counter",
    attributes: { update_rate_msec: 100, ticks_per_update: 2 },
  },
  "rdk:component:encoder rdk:builtin:incremental": {
    name: "left-encoder",
    attributes: { board: "chassis", pins: { a: "left-a", b: "left-b" } },
  },
  "rdk:component:encoder rdk:builtin:single": {
    name: "wheel-encoder",
    attributes: { board: "chassis", pins: { i: "wheel-i" } },
  },
  "rdk:component:gantry rdk:builtin:fake": { name: "rail", attributes: { lengths_mm: [800] } },
  "rdk:component:generic rdk:builtin:fake": { name: "thing" },
  "rdk:component:generic rdk:builtin:system": {
    name: "computer",
    attributes: { allow_reboot: true },
  },
  "rdk:component:gripper rdk:builtin:fake": { name: "hand" },
  "rdk:component:input_controller rdk:builtin:fake": {
    name: "ghost-pad",
    attributes: { controls: ["AbsoluteX", "AbsoluteY"], event_value: 0.5 },
  },
  "rdk:component:input_controller rdk:builtin:gamepad": {
    name: "usb-pad",
    attributes: { auto_reconnect: true },
  },
  "rdk:component:input_controller rdk:builtin:webgamepad": {
    name: "gamepad",
    attributes: { timeout: "2s" },
  },
  "rdk:component:motor rdk:builtin:fake": { name: "fan", attributes: { max_rpm: 100 } },
  "rdk:component:motor rdk:builtin:gpio": {
    name: "left",
    attributes: {
      board: "chassis",
      pins: { pwm: "1", dir: "2" },
      ...{ encoder: "left-encoder", ticks_per_rotation: 200, max_rpm: 200 },
    },
  },
  "rdk:component:motor rdk:builtin:gpiostepper": {
    name: "turntable",
    attributes: { board: "chassis", pins: { step: "5", dir: "6" }, ticks_per_rotation: 200 },
  },
  "rdk:component:movement_sensor rdk:builtin:fake": {
    name: "somewhere",
    attributes: { latitude: 47.37, longitude: 8.54, compass_deg: 90 },
  },
  "rdk:component:movement_sensor rdk:builtin:gps-nmea": {
    name: "gps",
    attributes: {
      connection_type: "serial",
      serial_attributes: { serial_path: "/dev/ttyUSB0", serial_baud_rate: 9600 },
    },
  },
  "rdk:component:movement_sensor rdk:builtin:merged": {
    name: "best",
    attributes: { position: ["odometry", "somewhere"], compass_heading: ["somewhere"] },
  },
  "rdk:component:movement_sensor rdk:builtin:replay": {
    name: "past-odometry",
    attributes: { ...REPLAYED, source: "odometry" },
  },
  "rdk:component:movement_sensor rdk:builtin:wheeled-odometry": {
    name: "odometry",
    attributes: { base: "rover", left_motors: ["left"], right_motors: ["right"] },
  },
  "rdk:component:pose_tracker rdk:builtin:fake": {
    name: "markers",
    attributes: { bodies: ["box"] },
  },
  "rdk:component:power_sensor rdk:builtin:fake": {
    name: "supply",
    attributes: { volts: 12, amperes: 2 },
  },
  "rdk:component:sensor rdk:builtin:command": {
    name: "queue",
    attributes: { program: "/usr/local/bin/queue-length", args: ["--json"], min_interval: "5s" },
  },
  "rdk:component:sensor rdk:builtin:fake": {
    name: "cellar",
    attributes: { readings: { celsius: 11 } },
  },
  "rdk:component:sensor rdk:builtin:host": {
    name: "host",
    attributes: { disk_path: "/", interfaces: ["lo"] },
  },
  "rdk:component:sensor rdk:builtin:http": {
    name: "weather",
    attributes: { url: "http://10.0.0.30/now.json", interval: "1m", max_age: "1h" },
  },
  "rdk:component:sensor rdk:builtin:modbus": {
    name: "meter",
    attributes: {
      ...{ connection_type: "tcp", address: "10.0.0.40:502" },
      registers: [{ name: "watts", kind: "input", address: 12, data_type: "float32" }],
    },
  },
  "rdk:component:sensor rdk:builtin:mqtt": {
    name: "greenhouse",
    attributes: { url: "mqtt://10.0.0.50:1883", topics: ["greenhouse/temperature"] },
  },
  "rdk:component:sensor rdk:builtin:replay": {
    name: "past-weather",
    attributes: { ...REPLAYED, source: "weather" },
  },
  "rdk:component:servo rdk:builtin:fake": { name: "flap" },
  "rdk:component:servo rdk:builtin:gpio": {
    name: "tilt",
    attributes: { board: "chassis", pin: "12" },
  },
  "rdk:component:switch rdk:builtin:fake": {
    name: "mode",
    attributes: { position_count: 2, labels: ["off", "on"] },
  },
  "rdk:service:base_remote_control rdk:builtin:builtin": {
    name: "drive",
    attributes: {
      ...{ base: "rover", input_controller: "gamepad", control_mode: "joyStickControl" },
    },
  },
  "rdk:service:data_manager rdk:builtin:builtin": {
    name: "data",
    attributes: { sync_interval_mins: 1, tags: ["hall-2"] },
  },
  "rdk:service:discovery rdk:builtin:devices": { name: "devices" },
  "rdk:service:discovery rdk:builtin:fake": { name: "found" },
  "rdk:service:generic rdk:builtin:fake": { name: "anything" },
  "rdk:service:generic rdk:builtin:system": { name: "system" },
  "rdk:service:mlmodel rdk:builtin:tflite_cpu": {
    name: "boxes",
    attributes: {
      model_path: "${packages.ml_model.boxes}/box.tflite",
      label_path: "${packages.ml_model.boxes}/labels.txt",
    },
  },
  "rdk:service:motion rdk:builtin:builtin": { name: "builtin" },
  "rdk:service:navigation rdk:builtin:builtin": {
    name: "navigation",
    attributes: { base: "rover", movement_sensor: "odometry", meters_per_sec: 0.4 },
  },
  "rdk:service:sensors rdk:builtin:builtin": { name: "sensors" },
  "rdk:service:shell rdk:builtin:builtin": { name: "terminal" },
  "rdk:service:shell rdk:builtin:shell": { name: "shell" },
  "rdk:service:slam rdk:builtin:fake": { name: "map" },
  "rdk:service:video rdk:builtin:fake": { name: "recorder" },
  "rdk:service:vision rdk:builtin:color_detector": {
    name: "red-things",
    attributes: {
      ...{ detect_color: "#E01010", hue_tolerance_pct: 0.05, segment_size_px: 50 },
      camera_name: "front",
    },
  },
  "rdk:service:vision rdk:builtin:detector_3d_segmenter": {
    name: "red-clouds",
    attributes: { detector_name: "red-things", camera_name: "front" },
  },
  "rdk:service:vision rdk:builtin:fake": {
    name: "sees-all",
    attributes: { camera_name: "pattern" },
  },
  "rdk:service:vision rdk:builtin:mlmodel": {
    name: "finder",
    attributes: {
      ...{ mlmodel_name: "boxes", camera_name: "front" },
      default_minimum_confidence: 0.5,
    },
  },
  "rdk:service:world_state_store rdk:builtin:fake": { name: "world", attributes: { fps: 1 } },
};
