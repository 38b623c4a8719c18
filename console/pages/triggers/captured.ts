/** What a machine captured, for conditions to choose from. */
import { createClient } from "@connectrpc/connect";
import {
  type DataSource,
  StoredDataService,
} from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { DataService, Order } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { transport } from "../../api/session.svelte.ts";
import { captureMethod, fieldsIn, isCaptureMethod } from "./trigger_form.ts";

const storedData = createClient(StoredDataService, transport);
const dataApi = createClient(DataService, transport);

/**
 * The sources of a part's readings by their names in conditions, newest first; without those that
 * no condition can name, such as a component of a remote.
 */
export async function capturedBy(partId: string): Promise<ReadonlyMap<string, DataSource>> {
  const { sources } = await storedData.listDataSources({ partId });
  const last = ({ lastReading }: DataSource) => Number(lastReading?.seconds ?? 0n);
  return new Map(
    sources.filter(({ lastReading }) => lastReading).sort((a, b) => last(b) - last(a))
      .map((source) => [captureMethod(source), source] as const)
      .filter(([name]) => isCaptureMethod(name)),
  );
}

/** The fields of the newest reading of a source. */
export async function fieldsOf(source: DataSource): Promise<string[]> {
  const { data } = await dataApi.tabularDataByFilter({
    dataRequest: {
      ...{ limit: 1n, sortOrder: Order.DESCENDING },
      filter: {
        partId: source.partId,
        componentName: source.resourceName,
        componentType: source.resourceSubtype,
        method: source.methodName,
      },
    },
  });
  return fieldsIn(data[0]?.data ?? {});
}
