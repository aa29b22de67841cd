/** The tenant a request acts in; absent = `default`. */
export const TENANT_HEADER = 'eitri-tenant'
/** Through what a person asks. */
export const CLIENT_HEADER = 'eitri-client'
/** Names one request in answers and in the audit trail. */
export const REQUEST_ID_HEADER = 'x-request-id'

export const DEFAULT_TENANT = 'default'
/** Scope of events that belong to no tenant; nobody acts in it. */
export const SYSTEM_TENANT = 'system'

/** `api` = something that did not say what it is; `eitri` = the control plane by itself. */
export const CLIENTS = ['app', 'cli', 'mcp', 'api'] as const
export type ClientKind = (typeof CLIENTS)[number] | 'eitri'
