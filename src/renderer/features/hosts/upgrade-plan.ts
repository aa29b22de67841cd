import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'

export interface UpgradePlan {
  steps: { host: Host; from: string; to: string }[]
  left: { host: Host; why: string }[]
}

/** Whose agent would be put in whose place, and why the others stay as they are. */
export function planUpgrade(hosts: readonly Host[]): UpgradePlan {
  const plan: UpgradePlan = { steps: [], left: [] }
  for (const host of [...hosts].sort((a, b) => a.name.localeCompare(b.name))) {
    const why = whyNot(host)
    if (why === undefined) plan.steps.push({ host, from: host.agentVersion || '?', to: host.upgradeAvailable })
    else plan.left.push({ host, why })
  }
  return plan
}

function whyNot(host: Host): string | undefined {
  if (host.status === 'decommissioning') return 'is being removed'
  if (host.pendingUpgrade) return `is being updated to ${host.pendingUpgrade.version} already`
  if (host.upgradeAvailable === '') return 'has the agent of this app'
  if (host.link !== 'connected') return 'does not answer: its agent cannot be reached now'
  return undefined
}

/** How its last update went, in words; undefined = there was none. */
export function outcomeWords(host: Host): { text: string; tone: 'good' | 'warn' | 'bad' | 'busy' } | undefined {
  const { upgradeOutcome: outcome } = host
  if (!outcome) return undefined
  const why = outcome.detail ? `: ${outcome.detail}` : ''
  switch (outcome.state) {
    case 'verifying':
      return { text: `Checking ${outcome.version} on the host${why}`, tone: 'busy' }
    case 'restarting':
      return { text: `Restarting as ${outcome.version}${why}`, tone: 'busy' }
    case 'done':
      return { text: `Updated to ${outcome.version}`, tone: 'good' }
    case 'refused':
      return { text: `${outcome.version} was refused${why}. The one before runs on.`, tone: 'warn' }
    default:
      return { text: `${outcome.version} did not come up${why}. The host went back by itself.`, tone: 'bad' }
  }
}
