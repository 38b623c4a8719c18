/**
 * A mail server for trying out: it takes every mail on port 2525 and prints it.
 *
 * tools/deno.sh run -A docs/examples/mail_sink.ts
 */
import process from "node:process";
import { SMTPServer } from "smtp-server";

new SMTPServer({
  authOptional: true,
  disabledCommands: ["STARTTLS"],
  onData: (stream, _session, done) => {
    stream.on("end", done);
    stream.pipe(process.stdout, { end: false });
  },
}).listen(2525, "127.0.0.1");
process.stdout.write("waiting for mail on smtp://127.0.0.1:2525\n");
