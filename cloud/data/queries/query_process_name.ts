/** The first argument of the process that runs queries; its folder of data is the second. */
export const QUERY_PROCESS = "data-query-process";
