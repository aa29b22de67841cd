import { journey } from '../support/journey.ts'

journey('root over a forwarded socket', {
  user: 'root',
  variant: 'default',
  carrier: 'streamlocal',
  socket: '/run/eitri/agent.sock',
  stateDir: '/var/lib/eitri',
  runsAs: 'root',
})
