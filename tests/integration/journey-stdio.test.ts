import { journey } from '../support/journey.ts'

journey('root through rpc --stdio where sshd forbids forwarding', {
  user: 'root',
  variant: 'no-streamlocal',
  carrier: 'stdio',
  socket: '/run/eitri/agent.sock',
  stateDir: '/var/lib/eitri',
  runsAs: 'root',
})
