import type { Host } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'

/** What a person runs on the host to look at its agent. */
export function agentCommands({ runsAs, startedBy, address }: Pick<Host, 'runsAs' | 'startedBy' | 'address'>): {
  log: string
  doctor: string
} {
  const root = runsAs === 'root'
  const sudo = root && !address.startsWith('root@') ? 'sudo ' : ''
  const doctor = `${sudo}${root ? 'eitri-agent' : '~/.local/bin/eitri-agent'} doctor`
  if (startedBy === 'systemd') return { log: `${sudo}journalctl -u eitri-agent -n 200 --no-pager`, doctor }
  if (startedBy === 'systemd-user') return { log: 'journalctl --user -u eitri-agent -n 200 --no-pager', doctor }
  const state = root ? '/var/lib/eitri' : '~/.local/state/eitri'
  return { log: `${sudo}tail -n 200 ${state}/agent.log`, doctor }
}
