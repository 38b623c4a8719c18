import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { findPart, partArgument } from "../../shared/commands/choice/part.ts";
import { clientOf, command, type CommandTree } from "../../shared/commands/run/command.ts";
import { credentialsLink } from "../../shared/cloud/credentials/credentials_link.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";

/** The code by which a phone brings a machine its credentials. */
export const partQrCommands: CommandTree = {
  "parts qr": command({
    summary: "Show a QR code with a part's credentials, for a phone that sets the machine up.",
    flags: {
      "svg": { type: "string", placeholder: "FILE", doc: "Write an image, to be printed." },
    },
    arguments: [partArgument],
    async run(context, { values: { svg }, arguments: [wanted = ""] }) {
      const { id, name, machineName } = await findPart(context, wanted);
      const { part } = await (await clientOf(context, AppService)).getRobotPart({ id });
      const secret = part?.secrets[0]?.secret || part?.secret;
      if (!secret) throw new Error(`the cloud gives no secret of part ${name} to this account`);
      const { name: app_address } = await context.cloud();
      const link = credentialsLink(JSON.stringify({ cloud: { app_address, id, secret } }));
      const { renderSVG, renderUnicodeCompact } = await import("uqr");
      const options = { ecc: "L", border: 4 } as const;
      if (svg !== undefined) {
        await writeFileAtomic(svg, renderSVG(link, options));
        const text = `the code of part ${name} of ${machineName} is in ${svg}\n`;
        return { json: { id, name, file: svg }, text, ids: [id] };
      }
      const code = renderUnicodeCompact(link, options);
      const text = `${code}\n\nJoin the WiFi network of ${machineName}, then scan this with the ` +
        "phone's camera and open the link.\nWhoever reads the code has the machine's secret.\n";
      return { json: { id, name, link }, text, ids: [id] };
    },
  }),
};
