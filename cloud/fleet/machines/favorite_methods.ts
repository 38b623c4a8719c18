import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import { type AppService, FavoriteMachineSchema } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { personOf } from "../../accounts/sessions/person_calls.ts";
import { type MachineMethodsOptions, robots } from "./machine_methods.ts";

/** Machines that one person marks. */
const MOST = 1_000;

/** The calls of AppService about the machines that a person marked. */
export function favoriteMethods(
  options: MachineMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  const { callers, queries, clock } = options;
  return {
    async addFavoriteMachine({ machineId }, context) {
      const scope = await callers.scope(context);
      const { userId } = personOf(scope);
      const machine = await scope.machine(machineId, "see");
      await queries.transaction().execute(async (transaction) => {
        const marked = await transaction.selectFrom("favorite_machines").select("machine_id")
          .where("user_id", "=", userId).execute();
        if (marked.length >= MOST) {
          throw new ConnectError(
            `you have ${MOST} favourites; remove some`,
            Code.ResourceExhausted,
          );
        }
        await transaction.insertInto("favorite_machines").values({
          ...{ user_id: userId, machine_id: machine.id, created_at: clock.now().getTime() },
        }).onConflict((conflict) => conflict.doNothing()).execute();
      });
      return {};
    },

    async removeFavoriteMachine({ machineId }, context) {
      const { userId } = personOf(await callers.scope(context));
      await queries.deleteFrom("favorite_machines")
        .where("user_id", "=", userId).where("machine_id", "=", machineId).execute();
      return {};
    },

    async listFavoriteMachines(_request, context) {
      const scope = await callers.scope(context);
      const { userId } = personOf(scope);
      const marked = await queries.selectFrom("favorite_machines").selectAll()
        .where("user_id", "=", userId).orderBy("created_at").execute();
      const at = new Map(marked.map((row) => [row.machine_id, row.created_at]));
      // Those that the person may still see.
      const rows = await scope.machines().selectAll("machines")
        .where("machines.id", "in", [...at.keys()]).execute();
      const machines = await robots(options, scope, rows);
      const orgOf = new Map(rows.map((row) => [row.id, row.org_id]));
      return {
        favorites: machines.map((machine) =>
          create(FavoriteMachineSchema, {
            machine,
            organizationId: orgOf.get(machine.id) ?? "",
            createdOn: timestampFromMs(at.get(machine.id) ?? 0),
          })
        ),
      };
    },
  };
}
