import type { Migration } from "../../../shared/base/store/sqlite.ts";

/**
 * Events of triggers keep facts in place of a rendered request. What is there is converted, so that
 * notifications that wait are still sent; names are those of now.
 */
export const factsMigration: Migration = {
  version: 15,
  name: "facts of trigger events",
  up: `
    ALTER TABLE trigger_events ADD COLUMN facts TEXT NOT NULL DEFAULT '{}';
    UPDATE trigger_events SET facts = json_object(
      'part', json((
        SELECT json_object(
          'partId', parts.id, 'partName', parts.name,
          'machineId', machines.id, 'machineName', machines.name,
          'locationId', locations.id, 'locationName', locations.name,
          'organizationId', organizations.id, 'organizationName', organizations.name)
        FROM parts
          JOIN machines ON machines.id = parts.machine_id
          JOIN locations ON locations.id = parts.location_id
          JOIN organizations ON organizations.id = parts.org_id
        WHERE parts.id = trigger_events.part_id)),
      'occurred', json(CASE
        WHEN body = '' THEN json_object('kind', 'transition')
        WHEN json_type(body) = 'array' THEN json_object('kind', 'logs', 'entries', json(body))
        ELSE json_object(
          'kind', 'upload',
          'componentName', coalesce(body ->> '$.component_name', ''),
          'componentType', coalesce(body ->> '$.component_type', ''),
          'methodName', coalesce(body ->> '$.method_name', ''),
          'dataType', coalesce(body ->> '$.data_type', ''),
          'fileId', coalesce(body ->> '$.file_id', ''),
          'minTimeReceived', coalesce(body ->> '$.min_time_received', ''),
          'maxTimeReceived', coalesce(body ->> '$.max_time_received', ''),
          'condition', json(body -> '$.trigger_condition'),
          'reading', json(CASE WHEN json_type(body, '$.data') = 'object' THEN json_object(
            'receivedAt', coalesce(body ->> '$.data.metadata.received_at', ''),
            'requestedAt', coalesce(body ->> '$.data.metadata.requested_at', ''),
            'data', json(body -> '$.data.data')) END))
        END));
    ALTER TABLE trigger_events DROP COLUMN headers;
    ALTER TABLE trigger_events DROP COLUMN body;
  `,
};
