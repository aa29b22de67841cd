import { journey } from '../support/journey.ts'

journey('a user without sudo, with an agent of its own', {
  user: 'dev',
  variant: 'default',
  carrier: 'streamlocal',
  socket: '/home/dev/.local/state/eitri/run/agent.sock',
  stateDir: '/home/dev/.local/state/eitri',
  runsAs: 'dev',
})
