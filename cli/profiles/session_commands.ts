import { UsageError } from "../../shared/base/flags/flags.ts";
import { textTable } from "../../shared/commands/output/text_table.ts";
import { isoTime, timeText } from "../../shared/commands/output/times.ts";
import { clientOf, command, type CommandTree, done } from "../../shared/commands/run/command.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";

/** Commands about the sessions of the person who is signed in. */
export const sessionCommands: CommandTree = {
  "sessions list": command({
    summary: "List where you are signed in, newest first.",
    flags: {},
    async run(context) {
      const { sessions } = await (await clientOf(context, AccountService)).listSessions({});
      const rows = sessions.map((one) => [
        ...[one.id, one.isCurrent ? "this one" : "", one.method, one.address, one.client],
        ...[one.createdAt, one.lastSeenAt, one.expiresAt].map(timeText),
      ]);
      const heading = ["ID", "", "BY", "ADDRESS", "CLIENT", "SINCE", "LAST SEEN", "EXPIRES"];
      return {
        json: sessions.map((one) => ({
          ...{ id: one.id, method: one.method, address: one.address, client: one.client },
          created_at: isoTime(one.createdAt),
          last_seen_at: isoTime(one.lastSeenAt),
          expires_at: isoTime(one.expiresAt),
          is_current: one.isCurrent,
        })),
        text: textTable([heading, ...rows], context.terminal.columns),
        ids: sessions.map(({ id }) => id),
      };
    },
  }),
  "sessions end": command({
    summary: "End one of your sessions, with its streams and connections to machines.",
    flags: { "all-others": { type: "boolean", doc: "End all of them but that of this command." } },
    arguments: [{ placeholder: "ID", doc: "Id, as sessions list shows it.", optional: true }],
    async run(context, { values, arguments: [id] }) {
      if (values["all-others"] === (id !== undefined)) {
        throw new UsageError(
          `give the id of a session or --all-others; ${context.program} sessions list shows them`,
        );
      }
      const account = await clientOf(context, AccountService);
      if (id === undefined) {
        const { ended } = await account.endSession({ allOthers: true });
        return done({ ended }, `${ended} other ${ended === 1 ? "session" : "sessions"} ended`);
      }
      const { sessionId } = await account.getAccount({});
      if (id === sessionId) {
        throw new UsageError(
          `${id} is the session of this command; ${context.program} logout ends it`,
        );
      }
      const { ended } = await account.endSession({ sessionId: id });
      return done({ id, ended }, `session ${id} ended`);
    },
  }),
};
