import { describe, expect, it } from 'vitest'
import { SAYS_NOTHING } from '../../../../../src/main/control/hosts/ssh/config.ts'
import {
  type ClientFacts,
  chooseClient,
  noCommonAlgorithm,
} from '../../../../../src/main/control/hosts/ssh-client-choice.ts'

const PLAIN: ClientFacts = {
  says: SAYS_NOTHING,
  keys: [{ file: '/home/ops/.ssh/id_ed25519', type: 'ssh-ed25519' }],
  certificates: [],
  agentTypes: ['ssh-ed25519', 'ssh-rsa'],
  ticket: false,
  hostAuthority: false,
}
const says = (over: Partial<ClientFacts['says']>): Partial<ClientFacts> => ({ says: { ...SAYS_NOTHING, ...over } })

describe('which SSH client carries a host', () => {
  it.each<[string, Partial<ClientFacts>]>([
    ['plain keys', {}],
    ['jump hosts', says({ proxyJump: 'a,b' })],
    ['no key at all: a password, or prompts', { keys: [], agentTypes: [] }],
    ['GSSAPI in the configuration, as Debian has it, without a ticket', says({ gssapi: true })],
    ['a ticket without GSSAPI', { ticket: true }],
    ['a key that cannot be told', { keys: [{ file: '/k', type: '' }] }],
  ])('is ssh2 with %s', (_, over) => expect(chooseClient({ ...PLAIN, ...over })).toEqual({ client: 'ssh2' }))

  it.each<[string, Partial<ClientFacts>, string]>([
    ['a ProxyCommand', says({ proxyCommand: 'nc %h %p' }), 'a ProxyCommand'],
    ['a certificate', { certificates: ['/home/ops/.ssh/id_ed25519-cert.pub'] }, 'a certificate (id_ed25519-cert.pub)'],
    [
      'a hardware key',
      { keys: [{ file: '/home/ops/.ssh/yubi', type: 'sk-ssh-ed25519@openssh.com' }] },
      'a hardware key (yubi)',
    ],
    [
      'a hardware key that cannot be read',
      { keys: [{ file: '/root/.ssh/id_ecdsa_sk', type: '' }] },
      'a hardware key (id_ecdsa_sk)',
    ],
    ['a certificate in the agent', { agentTypes: ['ssh-rsa-cert-v01@openssh.com'] }, 'a certificate in the SSH agent'],
    [
      'a hardware key in the agent',
      { agentTypes: ['sk-ecdsa-sha2-nistp256@openssh.com'] },
      'a hardware key in the SSH agent',
    ],
    ['Kerberos', { ...says({ gssapi: true }), ticket: true }, 'Kerberos (GSSAPIAuthentication)'],
    ['a PKCS#11 token', says({ pkcs11Provider: '/usr/lib/p11.so' }), 'a PKCS#11 token (PKCS11Provider)'],
    ['a SecurityKeyProvider', says({ securityKeyProvider: '/usr/lib/sk.so' }), 'a SecurityKeyProvider'],
    ['an authority for host keys', { hostAuthority: true }, 'a certificate authority for host keys (@cert-authority)'],
    ['a KnownHostsCommand', says({ knownHostsCommand: '/bin/known %H' }), 'a KnownHostsCommand'],
    ['host-based sign-in', says({ hostbased: true }), 'host-based sign-in (HostbasedAuthentication)'],
    ['an address to dial from', says({ bind: '10.0.0.9' }), 'an address of its own to dial from (10.0.0.9)'],
  ])('is the system’s own ssh with %s, and says so', (_, over, need) => {
    const detail = `Your setup uses ${need}, so the system's own ssh carries it.`
    expect(chooseClient({ ...PLAIN, ...over })).toEqual({ client: 'openssh', detail })
  })

  it('is decided by a host on the way too, which it names', () => {
    expect(chooseClient({ ...PLAIN, ...says({ proxyCommand: 'nc' }) }, 'bastion')).toEqual({
      client: 'openssh',
      detail: "Your setup for bastion on the way uses a ProxyCommand, so the system's own ssh carries it.",
    })
  })

  it('is the system’s own ssh where ssh2 and the server have nothing in common', () => {
    expect(noCommonAlgorithm('no matching key exchange algorithm')).toBe(
      "Its server takes none of what ssh2 has: no matching key exchange algorithm. The system's own ssh carries it.",
    )
  })
})
