import type { PartRow } from "../../accounts/access/scope.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** A method of a component, as a machine names it. */
export interface CaptureMethod {
  readonly componentType: string;
  readonly componentName: string;
  readonly methodName: string;
}

const KEPT = 20_000;

/** Numbers of sources, which stand in every row in place of six texts. */
export class Sources {
  readonly #kept = new Map<string, number>();

  constructor(private readonly queries: Queries) {}

  /** The number of a source; makes its row when data comes from it for the first time. */
  async numberOf(part: PartRow, method: CaptureMethod): Promise<number> {
    const { componentType, componentName, methodName } = method;
    const key = JSON.stringify([
      part.id,
      part.location_id,
      componentType,
      componentName,
      methodName,
    ]);
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const number = await this.#find(part, method) ?? await this.#make(part, method);
    if (this.#kept.size >= KEPT) this.#kept.clear();
    this.#kept.set(key, number);
    return number;
  }

  async #find(part: PartRow, method: CaptureMethod): Promise<number | undefined> {
    const row = await this.queries.selectFrom("data_sources").select("id")
      .where("part_id", "=", part.id).where("location_id", "=", part.location_id)
      .where("component_type", "=", method.componentType)
      .where("component_name", "=", method.componentName)
      .where("method_name", "=", method.methodName).executeTakeFirst();
    return row?.id;
  }

  async #make(part: PartRow, method: CaptureMethod): Promise<number> {
    const machine = await this.queries.selectFrom("machines").select("name")
      .where("id", "=", part.machine_id).executeTakeFirst();
    await this.queries.insertInto("data_sources").values({
      org_id: part.org_id,
      location_id: part.location_id,
      machine_id: part.machine_id,
      part_id: part.id,
      machine_name: machine?.name ?? "",
      part_name: part.name,
      component_type: method.componentType,
      component_name: method.componentName,
      method_name: method.methodName,
    }).onConflict((conflict) => conflict.doNothing()).execute();
    const number = await this.#find(part, method);
    if (number === undefined) throw new Error(`no row for the data source of part ${part.id}`);
    return number;
  }
}
