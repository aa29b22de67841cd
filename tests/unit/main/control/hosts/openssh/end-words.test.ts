import { describe, expect, it } from 'vitest'
import { faultLine } from '../../../../../../src/ipc/fault-text.ts'
import { endFault, lastWords, signedInBy } from '../../../../../../src/main/control/hosts/openssh/end-words.ts'

const END = { host: 'rack1', address: 'ops@10.0.0.7:22', ready: false }
const CLOSED =
  'kex_exchange_identification: Connection closed by remote host\nConnection closed by UNKNOWN port 65535\n'
const CHANGED = `@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!
The fingerprint for the ED25519 key sent by the remote host is
SHA256:POtUPQcEKG9uIBzOL86q7qzM5r9cZyW14WR+mBKSc0I.
Offending ED25519 key in /home/ops/.ssh/known_hosts:1
Host key for [127.0.0.1]:2299 has changed and you have requested strict checking.
Host key verification failed.
`
const REVOKED = `@       WARNING: REVOKED HOST KEY DETECTED!               @
The ED25519 host key for [127.0.0.1]:2299 is marked as revoked.
ED25519 host key for [127.0.0.1]:2299 was revoked and you have requested strict checking.
Host key verification failed.
`

/** What OpenSSH 9.2 printed in each case. */
const ENDS: [string, string, string, Record<string, string>][] = [
  [
    'a name nobody knows',
    'ssh: Could not resolve hostname nosuch.invalid: Name or service not known\n',
    'host/unreachable',
    { address: 'nosuch.invalid', detail: 'the name is not known' },
  ],
  [
    'a port nobody listens on',
    'ssh: connect to host 127.0.0.1 port 2298: Connection refused\n',
    'host/unreachable',
    { address: '127.0.0.1:2298', detail: 'connection refused' },
  ],
  [
    'a host that does not answer',
    'ssh: connect to host 10.0.0.9 port 22: Connection timed out\n',
    'host/unreachable',
    { address: '10.0.0.9:22', detail: 'timed out' },
  ],
  [
    'a jump host nobody listens on: it is named',
    `ssh: connect to host bastion port 22: Connection refused\n${CLOSED}`,
    'host/unreachable',
    { address: 'bastion:22', detail: 'connection refused' },
  ],
  [
    'a jump host that cannot reach the host',
    `channel 0: open failed: connect failed: No route to host\nstdio forwarding failed\n${CLOSED}`,
    'host/unreachable',
    { detail: 'the host on the way does not reach it: connect failed: No route to host' },
  ],
  [
    'a jump host that forbids forwarding',
    `channel 0: open failed: administratively prohibited: open failed\nstdio forwarding failed\n${CLOSED}`,
    'host/unreachable',
    { detail: 'the host on the way does not reach it: administratively prohibited: open failed' },
  ],
  [
    'a jump host that refuses the sign-in: it is named',
    `Authenticated to outer ([10.0.0.1]:22) using "publickey".\nops@bastion: Permission denied (publickey).\n${CLOSED}`,
    'ssh/auth-refused',
    { address: 'ops@bastion', offered: 'publickey' },
  ],
  [
    'a ProxyCommand that is not there',
    `/bin/bash: line 1: exec: nc: not found\n${CLOSED}`,
    'host/unreachable',
    { detail: 'its ProxyCommand ended: /bin/bash: line 1: exec: nc: not found' },
  ],
  [
    'nothing in common',
    'Unable to negotiate with 127.0.0.1 port 2299: no matching key exchange method found. Their offer: sntrup761x25519-sha512@openssh.com\n',
    'ssh/unsupported',
    { need: 'other algorithms (no matching key exchange method; the server has sntrup761x25519-sha512@openssh.com)' },
  ],
  [
    'a sign-in that is refused',
    'Permission denied, please try again.\nroot@127.0.0.1: Permission denied (publickey,password,keyboard-interactive).\n',
    'ssh/auth-refused',
    { address: 'root@127.0.0.1', offered: 'publickey, password, keyboard-interactive' },
  ],
  [
    'a hardware key that is not there',
    'sign_and_send_pubkey: signing failed for ED25519-SK "/home/ops/.ssh/id_ed25519_sk": device not found\nops@10.0.0.7: Permission denied (publickey).\n',
    'ssh/auth-refused',
    { detail: 'signing failed for ED25519-SK "/home/ops/.ssh/id_ed25519_sk": device not found' },
  ],
  [
    'too many keys',
    'Received disconnect from 10.0.0.7 port 22:2: Too many authentication failures\nDisconnected from 10.0.0.7 port 22\n',
    'ssh/auth-refused',
    { detail: 'it allows no further try (MaxAuthTries)' },
  ],
  [
    'a changed key',
    CHANGED,
    'ssh/host-key-changed',
    { fingerprint: 'SHA256:POtUPQcEKG9uIBzOL86q7qzM5r9cZyW14WR+mBKSc0I' },
  ],
  ['a revoked key', REVOKED, 'ssh/host-key-revoked', {}],
  [
    'an unknown key',
    'No ED25519 host key is known for [127.0.0.1]:2299 and you have requested strict checking.\nHost key verification failed.\n',
    'ssh/host-key-unknown',
    {},
  ],
  [
    'a host certificate that is over',
    'Certificate invalid: expired\nNo ED25519 host key is known for rack1 and you have requested strict checking.\nHost key verification failed.\n',
    'ssh/host-certificate',
    { detail: 'expired' },
  ],
  [
    'a configuration that is wrong',
    '/home/ops/.ssh/config: line 2: Bad configuration option: bogusthing\n/home/ops/.ssh/config: terminating, 1 bad configuration options\n',
    'ssh/config-invalid',
    { detail: '/home/ops/.ssh/config: line 2: Bad configuration option: bogusthing' },
  ],
  [
    'jump hosts in a circle',
    'jumphost loop via 127.0.0.1\n',
    'ssh/config-invalid',
    { detail: 'jumphost loop via 127.0.0.1' },
  ],
  [
    'a server that turns people away',
    'kex_exchange_identification: read: Connection reset by peer\nConnection reset by 10.0.0.7 port 22\n',
    'ssh/not-now',
    { address: 'ops@10.0.0.7:22' },
  ],
  ['nothing at all', '', 'ssh/protocol', { detail: 'ssh ended without a word' }],
  ['anything else', 'something nobody foresaw\n', 'ssh/protocol', { detail: 'something nobody foresaw' }],
]

describe('the end of the system’s ssh', () => {
  it.each(ENDS)('by %s is said in our words', (_, said, code, params) => {
    const fault = endFault(said, END)
    expect(fault).toMatchObject({ code, params: { host: 'rack1', ...params } })
    expect(faultLine(fault.code, fault.params)).not.toMatch(/undefined|\n/)
  })

  it('after the sign-in is a loss, with its last words', () => {
    const ready = { ...END, ready: true }
    const stats =
      'Transferred: sent 4144, received 4068 bytes, in 28.2 seconds\nBytes per second: sent 146.7, received 144.0\n'
    expect(endFault(`Authenticated to rack1 ([10.0.0.7]:22) using "publickey".\n${stats}`, ready)).toMatchObject({
      code: 'ssh/lost',
      params: { host: 'rack1' },
    })
    expect(endFault(`client_loop: send disconnect: Broken pipe\n${stats}`, ready).params['detail']).toContain(
      'Broken pipe',
    )
  })

  it('is never told in the terminal’s control characters', () => {
    const fault = endFault('\u001b[31mpwned\u001b]0;title\u0007\u202e\n', END)
    expect(JSON.stringify(fault.params)).not.toMatch(/\\u00|\u202e/)
  })
})

describe('what ssh says on its way', () => {
  it('tells how it signed in to the last host', () => {
    const said =
      'Authenticated to a ([10.0.0.1]:22) using "password".\nAuthenticated to b (via proxy) using "publickey".\n'
    expect(signedInBy(said)).toBe('publickey')
    expect(signedInBy('')).toBe('')
  })

  it('gives a server’s instruction, and none of its own words', () => {
    expect(lastWords('Enter the code of the blue token.\nPermission denied, please try again.\n')).toBe(
      'Enter the code of the blue token.',
    )
    expect(lastWords('Authenticated to a ([10.0.0.1]:22) using "password".\n')).toBe('')
  })
})
