import { createClient } from "@connectrpc/connect";
import {
  type DataSource,
  StoredDataService,
} from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { transport } from "../../api/session.svelte.ts";

/** Readings, pictures, queries. */
export const dataApi = createClient(DataService, transport);
/** Plots, and what has been captured. */
export const storedData = createClient(StoredDataService, transport);

/** A source of readings as the address names its resource. */
export function resourceKey(source: DataSource): string {
  return `${source.resourceSubtype}/${source.resourceName}`;
}

/** The machine of a source, with its part where that is named otherwise. */
export function sourceMachine({ machineName, partName }: DataSource): string {
  return partName === `${machineName}-main` ? machineName : `${machineName} · ${partName}`;
}
