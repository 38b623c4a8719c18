import { writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import type { CommandContext } from "../../shared/commands/run/command.ts";
import type { RobotPart } from "../../shared/gen/viam/app/v1/app_pb.ts";

/**
 * The file by which a part signs in, as machine-server and machine-agent read it.
 *
 * @throws {Error} for who may not see the secret
 */
export async function credentialsOf(context: CommandContext, part: RobotPart) {
  const { name: app_address } = await context.cloud();
  const secret = part.secrets[0]?.secret || part.secret;
  if (secret === "") {
    throw new Error(`the secret of ${part.name} is for owners of the machine, which you are not`);
  }
  return { cloud: { app_address, id: part.id, secret } };
}

/** Writes that file, for its owner alone. @throws {FileError} */
export async function writeCredentials(
  context: CommandContext,
  part: RobotPart,
  path: string,
): Promise<void> {
  const text = JSON.stringify(await credentialsOf(context, part), null, 2);
  await writeFileAtomic(path, `${text}\n`, { mode: 0o600 });
}
