import { describe, expect, it } from 'vitest'
import type { Artefact } from '../../../../../src/main/control/hosts/artefacts.ts'
import {
  agentInstallLine,
  installFacts,
  installScriptShown,
  unpackScript,
} from '../../../../../src/main/control/hosts/install-plan.ts'
import { parseLook } from '../../../../../src/main/control/hosts/look.ts'

const artefact: Artefact = {
  kind: 'executable',
  file: '/here/agent.gz',
  sizeBytes: 43 * 2 ** 20,
  compressed: true,
  sha256: 'ab'.repeat(32),
  unpackedBytes: 120 * 2 ** 20,
}
const look = parseLook('user=ops\nuid=1000\nhome=/home/ops\ninit=systemd\n')
const plan = (mode: 'user' | 'sudo' | 'root') => ({ look, mode, artefact, version: '0.1.0' })
const fact = (mode: 'user' | 'sudo' | 'root', name: string) =>
  installFacts(plan(mode)).find((one) => one.name === name)?.value

describe('what an install puts where', () => {
  it('is the whole machine by sudo, and the login’s home without', () => {
    expect([fact('sudo', 'Path'), fact('user', 'Path')]).toEqual([
      '/usr/local/lib/eitri/0.1.0',
      '/home/ops/.local/lib/eitri/0.1.0',
    ])
    expect([fact('sudo', 'Runs as'), fact('user', 'Runs as')]).toEqual(['root', 'ops'])
    expect(fact('root', 'Service')).toBe('eitri-agent.service')
    expect(fact('user', 'Service')).toContain('--user')
  })

  it('says its size, its checksum and the way back', () => {
    expect(fact('sudo', 'Size')).toBe('43 MB sent, 120 MB on its disk')
    expect(fact('sudo', 'Checksum')).toBe(`SHA-256 ${'ab'.repeat(32)}`)
    expect(fact('sudo', 'Undo')).toContain('sudo eitri-agent uninstall')
  })
})

describe('the script that is shown', () => {
  it('is made of the lines that are run', () => {
    const shown = installScriptShown(plan('sudo'))
    expect(shown).toContain('gzip -dc sent >plain')
    expect(shown).toContain("install --json --start --steer-user 'ops'")
    expect(shown).toContain(artefact.sha256)
    expect(agentInstallLine('/tmp/x/eitri-agent', plan('user'))).toBe(
      "'/tmp/x/eitri-agent' install --json --start --user",
    )
  })

  it('runs a bundle by the host’s own Node.js', () => {
    expect(unpackScript('/tmp/x', { kind: 'bundle', compressed: false })).toContain('command -v node')
  })
})
