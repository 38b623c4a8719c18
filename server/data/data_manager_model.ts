import type { Clock } from "../../shared/base/time/clock.ts";
import type { Model } from "../resources/graph/registry.ts";
import { type DataManagerAttributes, dataManagerAttributes } from "./attributes.ts";
import { DataManager } from "./data_manager.ts";
import type { MachineSeat } from "./machine_seat.ts";
import { CAPTURE, placeInHome } from "./places.ts";

/** What the model needs from outside. */
export interface DataManagerEnvironment {
  readonly clock: Clock;
  /** Folder of the server's state. */
  readonly home: string;
  /** Whoever configures the machine must not read other files on it. */
  readonly untrusted: boolean;
  readonly seat: MachineSeat;
}

/** Model `rdk:builtin:builtin` of `rdk:service:data_manager`. */
export function dataManagerModel(
  { clock, home, untrusted, seat }: DataManagerEnvironment,
): Model<DataManagerAttributes> {
  return {
    api: "rdk:service:data_manager",
    model: "rdk:builtin:builtin",
    triedWith: "a running machine and machine-cloud, full disks and kills included",
    attributes: dataManagerAttributes,
    construct({ attributes, log }) {
      const place = (path: string) => placeInHome(path, home, untrusted);
      return DataManager.start({
        attributes: {
          ...attributes,
          additional_sync_paths: attributes.additional_sync_paths?.map(place),
        },
        seat,
        clock,
        log,
        folder: place(attributes.capture_dir ?? CAPTURE),
        place,
        processors: navigator.hardwareConcurrency,
      });
    },
  };
}
