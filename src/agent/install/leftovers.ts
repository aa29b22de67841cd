import { dirname, join } from 'node:path'
import type { Failpoint } from '../os/failpoints.ts'
import { isTemp, listDir, removeTree } from '../os/files.ts'
import type { HostAccess } from './host-access.ts'
import type { AgentPlaces } from './places.ts'

/** In the login's home, while the new crontab is handed over. */
export const CRONTAB_DRAFT = '.eitri-crontab'

/** Removes what an install left beside its files that died while it wrote them; nothing of anybody else. */
export async function clearInstallLeftovers(
  point: Failpoint,
  { prefix, login }: HostAccess,
  { libDir, link, stateDir }: AgentPlaces,
  version?: string,
): Promise<void> {
  const written: [dir: string, ...names: string[]][] = [
    [dirname(link), 'eitri-agent'],
    [stateDir, 'install.json'],
    [join(prefix, '/etc/systemd/system'), 'eitri-agent.service'],
    [join(login.home, '.config/systemd/user'), 'eitri-agent.service'],
    [join(prefix, '/etc/init.d'), 'eitri-agent'],
    [login.home, CRONTAB_DRAFT],
  ]
  if (version !== undefined) written.push([join(libDir, version), 'eitri-agent', 'agent.cjs'])
  for (const [dir, ...names] of written)
    for (const name of await listDir(dir).catch(() => []))
      if (name === CRONTAB_DRAFT || (isTemp(name) && names.some((known) => name.startsWith(`${known}.`))))
        await removeTree(point, join(dir, name))
}
