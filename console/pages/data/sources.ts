import { createClient } from "@connectrpc/connect";
import {
  type DataSource,
  StoredDataService,
} from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { type BinaryMetadata, DataService } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { DatasetService } from "../../../shared/gen/viam/app/dataset/v1/dataset_pb.ts";
import { transport } from "../../api/session.svelte.ts";

/** Readings, pictures, queries. */
export const dataApi = createClient(DataService, transport);
/** Plots, and what has been captured. */
export const storedData = createClient(StoredDataService, transport);

/** Datasets themselves; what is in them is kept by `dataApi`. */
export const datasetApi = createClient(DatasetService, transport);

/** Every file of a dataset. */
export async function* filesOf(
  datasetId: string,
  signal: AbortSignal,
): AsyncGenerator<BinaryMetadata> {
  let last = "";
  do {
    const page = await dataApi.binaryDataByFilter(
      { dataRequest: { limit: 100n, last, filter: { datasetId } } },
      { signal },
    );
    for (const { metadata } of page.data) if (metadata) yield metadata;
    last = page.data.length < 100 ? "" : page.last;
  } while (last !== "");
}

/** A source of readings as the address names its resource. */
export function resourceKey(source: DataSource): string {
  return `${source.resourceSubtype}/${source.resourceName}`;
}

/** The machine of a source, with its part where that is named otherwise. */
export function sourceMachine({ machineName, partName }: DataSource): string {
  return partName === `${machineName}-main` ? machineName : `${machineName} · ${partName}`;
}
