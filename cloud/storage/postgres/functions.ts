/** Members of a list, as PostgreSQL plans with them. */
export const LIST_ROWS = 10;

/**
 * Functions of SQLite that queries of the cloud use, for PostgreSQL. They lie in the schema of the
 * cloud's tables and are made again at each start that migrates.
 */
export const SQLITE_FUNCTIONS = `
  -- The members of an array, as text; objects stay JSON. Lists are short: with the 1000 members that
  -- PostgreSQL assumes it reads whole tables to join them.
  CREATE OR REPLACE FUNCTION json_each(list text) RETURNS TABLE (value text)
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE ROWS ${LIST_ROWS}
    AS 'SELECT jsonb_array_elements_text(list::jsonb)';
  -- What a path finds, as text, which casts to what it is.
  CREATE OR REPLACE FUNCTION json_extract(document text, path text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS 'SELECT jsonb_path_query_first(document::jsonb, path::jsonpath) #>> ''{}''';
  -- The number at a path such as $."a"."b", 1 and 0 for truth; null for what is none.
  CREATE OR REPLACE FUNCTION json_number(document text, path text) RETURNS float8
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
      SELECT CASE json_typeof(found)
          WHEN 'number' THEN CAST(found #>> '{}' AS float8)
          WHEN 'boolean' THEN CAST(CAST(found #>> '{}' AS boolean) AS integer)
        END
      FROM json_extract_path(CAST(replace(document, '\\u0000', '\\ufffd') AS json),
        VARIADIC string_to_array(substr(path, 4, length(path) - 4), '"."')) AS found
    $$;
`;

/** Tables of which other processes of the cloud keep something in memory. */
const WATCHED = ["changes", "releases", "release_files", "release_keys", "rollouts"];

/** The channel on which messages of nodes are announced, next to that of other changes. */
export function messageChannel(channel: string): string {
  return `${channel}_messages`;
}

/** Notifies whoever listens on a channel that others wrote; sent when the transaction commits. */
export function notifications(channel: string): string {
  const triggers = WATCHED.map((table) => `
    CREATE OR REPLACE TRIGGER ${table}_notify AFTER INSERT OR UPDATE OR DELETE ON ${table}
      FOR EACH STATEMENT EXECUTE FUNCTION notify_processes();`);
  return `
    CREATE OR REPLACE FUNCTION notify_processes() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_notify(''${channel}'', ''''); RETURN NULL; END';
    ${triggers.join("")}
    CREATE OR REPLACE FUNCTION notify_nodes() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN PERFORM pg_notify(''${messageChannel(channel)}'', ''''); RETURN NULL; END';
    CREATE OR REPLACE TRIGGER node_messages_notify AFTER INSERT ON node_messages
      FOR EACH STATEMENT EXECUTE FUNCTION notify_nodes();`;
}
