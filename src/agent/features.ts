import type { AgentFeature } from '../ipc/agent-features.ts'

/** Said by Hello. What is missing here is never offered to this agent. */
export const FEATURES: readonly AgentFeature[] = ['upgrade', 'clone', 'live-edit', 'ssh-krl', 'autostart-order']
