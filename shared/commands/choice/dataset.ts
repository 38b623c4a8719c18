import { UsageError } from "../../base/flags/flags.ts";
import { nearestName } from "../../base/flags/nearest.ts";
import { type Dataset, DatasetService } from "../../gen/viam/app/dataset/v1/dataset_pb.ts";
import { clientOf, type CloudContext } from "../run/command.ts";

/** The dataset of an id or name. @throws {UsageError} that says which there are */
export async function chooseDataset(
  context: CloudContext,
  organizationId: string,
  wanted: string,
): Promise<Dataset> {
  const client = await clientOf(context, DatasetService);
  const { datasets } = await client.listDatasetsByOrganizationID({ organizationId });
  const found = datasets.find(({ id }) => id === wanted) ??
    datasets.find(({ name }) => name === wanted);
  if (found) return found;
  const names = datasets.map(({ name }) => name);
  const near = nearestName(wanted, names);
  const hint = near === undefined ? "" : ` (did you mean ${near}?)`;
  const known = names.length === 0
    ? `none yet; make one with ${context.commandLine("dataset create")} NAME`
    : names.join(", ");
  throw new UsageError(
    `the organisation has no dataset ${JSON.stringify(wanted)}${hint}; there is ${known}`,
  );
}
