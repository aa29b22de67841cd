/** What an agent may be able to do beyond the protocol version, as Hello says it. An agent of before says none. */
export const AGENT_FEATURES = ['upgrade', 'clone', 'live-edit', 'ssh-krl', 'autostart-order'] as const
export type AgentFeature = (typeof AGENT_FEATURES)[number]
