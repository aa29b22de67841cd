import { formatDate } from '../../lib/format.ts'

/** Beside the data folder, so that who loses the one may still have the other. */
export function suggestedBackup(dataDir: string, now: Date): string {
  const parent = dataDir.replace(/\/+[^/]*\/*$/, '')
  return `${parent}/eitri-backup-${formatDate(now)}.db`
}
