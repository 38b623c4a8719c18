/** The attributes of the data manager. */
import type { JsonObject } from "@bufbuild/protobuf";
import {
  anyObject,
  type Attributes,
  attributes,
  boolean,
  integer,
  listOf,
  number,
  objectOf,
  optional,
  optionalOrZero,
  text,
} from "../resources/graph/attributes.ts";

export interface DataManagerAttributes {
  capture_dir: string | undefined;
  tags: string[] | undefined;
  capture_disabled: boolean | undefined;
  maximum_capture_file_size_bytes: number | undefined;
  delete_every_nth_when_disk_full: number | undefined;
  disk_usage_deletion_threshold: number | undefined;
  capture_dir_deletion_threshold: number | undefined;
  sync_disabled: boolean | undefined;
  sync_interval_mins: number | undefined;
  additional_sync_paths: string[] | undefined;
  file_last_modified_millis: number | undefined;
  maximum_num_sync_threads: number | undefined;
  selective_syncer_name: string | undefined;
  capture_control_sensor: { name: string; key: string } | undefined;
  mongo_capture_config: JsonObject | undefined;
}

/** What counts where the configuration specifies nothing. */
export const DEFAULTS = {
  maximumFileBytes: 256 * 1024,
  everyNth: 5,
  diskThreshold: 0.9,
  captureThreshold: 0.5,
  syncIntervalMins: 0.1,
  unchangedForMs: 10_000,
} as const;

/** The server reads a file whole to send it. */
const LARGEST_FILE_BYTES = 16 * 1024 * 1024;

export const dataManagerAttributes: Attributes<DataManagerAttributes> = attributes<
  DataManagerAttributes
>({
  capture_dir: optional(text("Folder of captured data. Default: capture in the server's home.")),
  tags: optional(listOf(text("A tag."), "Tags of everything that is captured or uploaded.")),
  capture_disabled: optional(boolean("True: nothing is captured. Default false.")),
  maximum_capture_file_size_bytes: optionalOrZero(
    integer("A file of readings is closed at this size. Default 262144.", {
      min: 1,
      max: LARGEST_FILE_BYTES,
      clamp: true,
    }),
  ),
  delete_every_nth_when_disk_full: optionalOrZero(
    integer("Which share of the files is deleted when the disk is full. Default 5.", {
      min: 1,
      clamp: true,
    }),
  ),
  disk_usage_deletion_threshold: optional(
    number("How full the disk is when files are deleted. Default 0.9.", {
      min: 0,
      max: 1,
      clamp: true,
    }),
  ),
  capture_dir_deletion_threshold: optional(
    number("Share of captured data on the disk from which on files are deleted. Default 0.5.", {
      min: 0,
      max: 1,
      clamp: true,
    }),
  ),
  sync_disabled: optional(boolean("True: uploads only when Sync is called. Default false.")),
  sync_interval_mins: optional(
    number("Minutes from one upload to the next. Default 0.1, also for 0.", {
      min: 0,
      clamp: true,
    }),
  ),
  additional_sync_paths: optional(
    listOf(text("A path."), "Other files and folders to upload. Files are removed afterwards."),
  ),
  file_last_modified_millis: optional(
    integer("Other files wait until they have not changed for so long. Default 10000.", {
      min: 0,
      clamp: true,
    }),
  ),
  maximum_num_sync_threads: optionalOrZero(
    integer("Files on their way at the same time. Default: half the processors.", {
      min: 1,
      max: 100,
      clamp: true,
    }),
  ),
  selective_syncer_name: optional(
    text("Sensor that allows uploads: those of an interval wait unless it reads should_sync true."),
  ),
  capture_control_sensor: optional(
    objectOf<{ name: string; key: string }>({
      name: text("Name of the sensor."),
      key: text("Which of its readings."),
    }, "Sensor that switches capture: true on, false off, or a list of overrides."),
  ),
  mongo_capture_config: optional(anyObject("Has no effect here.")),
});
