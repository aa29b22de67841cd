/** How what was asked ended; `running` = it has not. */
export const AUDIT_RESULTS = ['done', 'failed', 'cancelled', 'superseded', 'running'] as const
export type AuditResult = (typeof AUDIT_RESULTS)[number]
