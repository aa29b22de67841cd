import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, expect } from 'vitest'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import type { SshHost } from '../../support/ssh-host.ts'
import { type MatrixRow, runMatrix } from './matrix.ts'
import { aLogin, aTokenLogin, code, PASSWORD, password } from './people.ts'

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-matrix-'))
afterAll(() => fs.rmSync(dir, { recursive: true }))

const aKey = (name: string, passphrase = '') => {
  const file = path.join(dir, name)
  if (!fs.existsSync(file))
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-a', '1', '-N', passphrase, '-C', name, '-f', file])
  return file
}
const letIn = (host: SshHost, file: string) =>
  host
    .must(['sh', '-c', 'cat >>/home/dev/.ssh/authorized_keys'], { input: fs.readFileSync(`${file}.pub`) })
    .then(() => {})

/** An SSH agent of this side that holds these keys. */
async function agentWith(files: string[]): Promise<{ socket: string; stop(): void }> {
  const socket = path.join(dir, `agent-${files.length}`)
  const child = spawn('ssh-agent', ['-D', '-a', socket], { stdio: ['ignore', 'pipe', 'ignore'] })
  await once(child.stdout, 'data')
  for (const file of files) execFileSync('ssh-add', ['-q', file], { env: { ...process.env, SSH_AUTH_SOCK: socket } })
  return { socket, stop: () => void child.kill() }
}

const KEYBOARD = ['PubkeyAuthentication no', 'KbdInteractiveAuthentication yes']
const CODE_AFTER_KEY = ['KbdInteractiveAuthentication yes', 'AuthenticationMethods publickey,keyboard-interactive']
const noKey = () => ({ identityFiles: [] })
const asked: Question[] = []
const noted = (answer: (question: Question) => Answer) => (question: Question) => {
  asked.push(question)
  return answer(question)
}
const never = () => new Promise<Answer>(() => {})
let agent: Awaited<ReturnType<typeof agentWith>>
const seven = () => Array.from({ length: 7 }, (_, i) => aKey(`agent${i}`))

const rows: MatrixRow[] = [
  { name: 'a key', ends: { carrier: 'streamlocal', how: /^key / } },
  {
    name: 'a key with a passphrase that is asked for',
    prepare: (host) => letIn(host, aKey('locked', 'opens it')),
    target: () => ({ identityFiles: [aKey('locked')] }),
    answers: [(q) => (q.kind === 'secret' && q.what === 'passphrase' ? { secret: 'opens it' } : {})],
    ends: { carrier: 'streamlocal', how: /^key .*locked$/ },
  },
  {
    name: 'an agent whose seventh key is the right one, past what the server lets be tried at once',
    prepare: async (host) => {
      agent = await agentWith(seven())
      await letIn(host, aKey('agent6'))
    },
    before: async () => () => agent.stop(),
    target: () => ({ identityFiles: [], identitiesOnly: false, identityAgent: agent.socket }),
    ends: { carrier: 'streamlocal', how: /^ssh-agent key agent6$/ },
  },
  {
    name: 'an agent with many keys of which the configuration names one, and IdentitiesOnly',
    sshd: ['MaxAuthTries 1'],
    prepare: async (host) => {
      agent = await agentWith([...seven(), aKey('named')])
      await letIn(host, aKey('named'))
    },
    before: async () => () => agent.stop(),
    target: () => ({ identityFiles: [aKey('named')], identitiesOnly: true, identityAgent: agent.socket }),
    ends: { carrier: 'streamlocal', how: /^ssh-agent key named$/ },
  },
  {
    name: 'a server that allows two tries, and the third key',
    sshd: ['MaxAuthTries 2'],
    target: (host) => ({ identityFiles: [aKey('stray1'), aKey('stray2'), host.clientKeyPath] }),
    ends: { carrier: 'streamlocal', how: /^key / },
  },
  {
    name: 'no key that fits: what was tried and what it takes',
    target: () => ({ identityFiles: [aKey('stray1')] }),
    ends: {
      fault: 'ssh/auth-refused',
      says: /^dev@\S+ refused the sign-in \(tried key \S+stray1; it takes publickey\)\. Nothing/,
    },
  },
  {
    name: 'a password',
    sshd: ['PubkeyAuthentication no', 'PasswordAuthentication yes'],
    target: noKey,
    secrets: (host) => ({ password: host.passwords.dev }),
    ends: { carrier: 'streamlocal', how: /^password$/ },
  },
  {
    name: 'a password that is wrong once',
    sshd: ['PubkeyAuthentication no', 'PasswordAuthentication yes'],
    user: 'wrongonce',
    prepare: (host) => aLogin(host, 'wrongonce'),
    target: noKey,
    secrets: () => ({ password: 'not it' }),
    answers: [noted(password)],
    ends: { carrier: 'streamlocal', how: /^password$/ },
    uses: async () => expect(asked.pop()).toMatchObject({ problem: 'The host did not take that password.' }),
  },
  {
    name: 'keyboard-interactive for the password alone',
    sshd: KEYBOARD,
    target: noKey,
    secrets: (host) => ({ password: host.passwords.dev }),
    ends: { carrier: 'streamlocal', how: /^keyboard-interactive$/ },
  },
  {
    name: 'keyboard-interactive for the password, which is asked for as such, and a code',
    sshd: KEYBOARD,
    pam: 'sshd-both',
    user: 'coder',
    prepare: (host) => aTokenLogin(host, 'coder', 'sshd-both', true),
    target: noKey,
    answers: [password, code],
    ends: { carrier: 'streamlocal', how: /^keyboard-interactive$/ },
  },
  {
    name: 'a key, then a code',
    sshd: CODE_AFTER_KEY,
    pam: 'sshd-code',
    user: 'coder',
    prepare: (host) => aTokenLogin(host, 'coder', 'sshd-code', false),
    answers: [code],
    ends: { carrier: 'streamlocal', how: /^key \S+, then keyboard-interactive$/ },
  },
  {
    name: 'a key of the agent, then a code',
    sshd: CODE_AFTER_KEY,
    pam: 'sshd-code',
    user: 'coder',
    prepare: async (host) => {
      await aTokenLogin(host, 'coder', 'sshd-code', false)
      agent = await agentWith([host.clientKeyPath])
    },
    before: async () => () => agent.stop(),
    target: () => ({ identityFiles: [], identitiesOnly: false, identityAgent: agent.socket }),
    answers: [code],
    ends: { carrier: 'streamlocal', how: /^ssh-agent key \S+, then keyboard-interactive$/ },
  },
  {
    name: 'a key, then a code that is wrong once',
    sshd: CODE_AFTER_KEY,
    pam: 'sshd-code',
    user: 'coder',
    prepare: (host) => aTokenLogin(host, 'coder', 'sshd-code', false),
    answers: [() => ({ secret: '000000' }), noted(code)],
    ends: { carrier: 'streamlocal', how: /then keyboard-interactive$/ },
    uses: async () => expect(asked.pop()).toMatchObject({ problem: 'The host did not take that answer.' }),
  },
  {
    name: 'a key, then a code nobody is there to type: it says which, and tries nothing',
    sshd: CODE_AFTER_KEY,
    pam: 'sshd-code',
    user: 'coder',
    prepare: (host) => aTokenLogin(host, 'coder', 'sshd-code', false),
    secrets: () => ({ password: PASSWORD }),
    alone: true,
    ends: {
      fault: 'ssh/code-needed',
      says: /^coder@\S+ asks for "Verification code:" at the sign-in\. Nobody .*"eitri host sign-in matrix"\.$/,
    },
  },
  {
    name: 'a key, then a password',
    sshd: ['PasswordAuthentication yes', 'AuthenticationMethods publickey,password'],
    secrets: (host) => ({ password: host.passwords.dev }),
    ends: { carrier: 'streamlocal', how: /^key \S+, then password$/ },
  },
  {
    name: 'a password, then a key',
    sshd: ['PasswordAuthentication yes', 'AuthenticationMethods password,publickey'],
    secrets: (host) => ({ password: host.passwords.dev }),
    ends: { carrier: 'streamlocal', how: /^password, then key / },
  },
  {
    name: 'a server that does not wait for the answer (LoginGraceTime) is asked anew',
    sshd: [...CODE_AFTER_KEY, 'LoginGraceTime 2'],
    pam: 'sshd-code',
    user: 'coder',
    prepare: (host) => aTokenLogin(host, 'coder', 'sshd-code', false),
    answers: [never, noted(code)],
    ends: { carrier: 'streamlocal' },
    uses: async () => expect(asked.pop()).toMatchObject({ problem: expect.stringMatching(/did not wait/) }),
  },
  {
    name: 'a host key other than the accepted one: nothing is sent',
    otherKey: true,
    ends: { fault: 'ssh/host-key-changed', says: /different host key: SHA256:\S+, known was SHA256:other/ },
  },
  {
    name: 'a full house (MaxStartups) is no refusal',
    sshd: ['MaxStartups 1:100:1'],
    before: async ({ host, sshd }) => {
      const idle = net.connect(sshd.port, host.address)
      await once(idle, 'data')
      return () => idle.destroy()
    },
    ends: {
      fault: 'ssh/not-now',
      says: /^matrix takes no sign-in at the moment \(too many sign-ins are under way there \(MaxStartups\)\)/,
    },
  },
  {
    name: 'a host that goes down (nologin) is no refusal, and says why',
    prepare: (host) => host.must(['sh', '-c', 'echo "System is going down." >/run/nologin']).then(() => {}),
    before:
      async ({ host }) =>
      () =>
        host.must(['rm', '/run/nologin']),
    ends: { fault: 'ssh/not-now', says: /takes no sign-in at the moment \(System is going down\.\)/ },
  },
]

runMatrix('signing in to a real sshd', rows)
