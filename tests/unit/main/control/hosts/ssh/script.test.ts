import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { Duplex } from 'node:stream'
import type { ClientChannel } from 'ssh2'
import { describe, expect, it } from 'vitest'
import type { Fault } from '../../../../../../src/ipc/faults.ts'
import { runCommand, shellWord } from '../../../../../../src/main/control/hosts/ssh/exec.ts'
import { framed, runScript } from '../../../../../../src/main/control/hosts/ssh/script.ts'
import { openStdio, RPC_MAGIC } from '../../../../../../src/main/control/hosts/ssh/stdio-carrier.ts'

/** A login of this computer: every command goes through its shell, as sshd does it. */
const login = (shell: string[], noise = '') => ({
  async exec(command: string): Promise<ClientChannel> {
    const child = spawn(shell[0]!, [...shell.slice(1), `${noise}${command}`])
    return asChannel(child.stdin, child.stdout, child.stderr, (fn) => child.on('close', fn))
  },
})

function asChannel(
  stdin: Writable,
  stdout: Readable,
  stderr: Readable,
  onEnd: (fn: (code: number | null) => void) => void,
): ClientChannel {
  const channel = new Duplex({
    read: () => stdout.resume(),
    write: (chunk, _, done) => (stdin.destroyed ? done() : stdin.write(chunk, () => done())),
    final: (done) => (stdin.destroyed ? done() : stdin.end(() => done())),
    autoDestroy: false,
  })
  stdin.on('error', () => {})
  stdout.on('data', (chunk) => channel.push(chunk) || stdout.pause())
  onEnd((code) => {
    channel.push(null)
    channel.emit('exit', code)
    setImmediate(() => channel.destroy())
  })
  return Object.assign(channel, { stderr, close: () => stdin.destroy() }) as unknown as ClientChannel
}

const options = (over = {}) => ({ host: 'rack1', signal: new AbortController().signal, timeoutMs: 10_000, ...over })

describe('a script on a host', () => {
  it('answers with its own output and code', async () => {
    const done = await runScript(login(['/bin/sh', '-c']), 'echo one; echo two >&2; (exit 7)', options())
    expect(done).toEqual({ code: 7, output: 'one\n', stderr: 'two\n' })
    expect((await runScript(login(['/bin/sh', '-c']), 'echo x; exit 3', options())).code).toBe(3)
    expect((await runScript(login(['/bin/sh', '-c']), 'true', options())).code).toBe(0)
  })

  it('is not disturbed by what the login shell prints before and after', async () => {
    const noisy = login(['/bin/sh', '-c'], 'echo MOTD; printf noise; trap "echo bye" EXIT; ')
    expect(await runScript(noisy, 'printf clean', options())).toMatchObject({ code: 0, output: 'clean' })
  })

  it('keeps its input from the commands it runs', async () => {
    expect((await runScript(login(['/bin/sh', '-c']), 'cat; echo after', options())).output).toBe('after\n')
  })

  it.each([
    ['says so', 'echo "This account is not available" >&2; exit 1; '],
    ['says so as its output', 'echo MOTD; echo "This account is not available"; exit 1; '],
  ])('ends with ssh/no-shell when the login runs no commands and %s', async (_, noise) => {
    const refusing = login(['/bin/sh', '-c'], noise)
    await expect(runScript(refusing, 'true', options())).rejects.toMatchObject({
      code: 'ssh/no-shell',
      params: { detail: 'it said "This account is not available"' },
    })
  })

  it('ends with ssh/no-shell when the login’s shell waits for somebody', async () => {
    const waiting = login(['/bin/sh', '-c'], 'printf "Press enter: "; read x; exit; ')
    await expect(runScript(waiting, 'true', options({ timeoutMs: 300 }))).rejects.toMatchObject({
      code: 'ssh/no-shell',
      params: { detail: expect.stringMatching(/^it did not run a command: .* 0.3 s; it said "Press enter:"$/) },
    })
  })

  it('knows a login whose fixed command is the agent’s own program', async () => {
    const forced = login(
      ['/bin/sh', '-c'],
      `echo MOTD; printf '${JSON.stringify(RPC_MAGIC).slice(1, -1)}'; cat; exit; `,
    )
    await expect(runScript(forced, 'true', options())).rejects.toMatchObject({
      code: 'ssh/no-shell',
      params: { forced: 'eitri-agent' },
    })
  })

  it('ends past its time and past its output', async () => {
    const sh = login(['/bin/sh', '-c'])
    await expect(runScript(sh, 'sleep 5', options({ timeoutMs: 200 }))).rejects.toThrow('longer than 0.2 s')
    await expect(runCommand(sh, 'head -c 400000 /dev/zero', options())).rejects.toThrow('more than allowed')
  })

  it('ends when the task is cancelled', async () => {
    const off = new AbortController()
    const running = runScript(login(['/bin/sh', '-c']), 'sleep 5', options({ signal: off.signal }))
    off.abort(new Error('called off'))
    await expect(running).rejects.toThrow('called off')
  })

  it('has no code before its end mark came', () => {
    expect(framed('MOTD\nm-start\nhalf', 'm')).toEqual({ output: 'half' })
    expect(framed('m-start\nall\n\nm-end 4\nbye', 'm')).toEqual({ output: 'all\n', code: 4, rest: 'bye' })
    expect(framed('nothing', 'm')).toEqual({ output: '' })
  })
})

/** sudo as the host knows it, by a program of the same prompts. */
const sudoers = (password: string) =>
  login(
    ['/bin/bash', '-c'],
    `sudo() { prompt=$3; shift 4; printf %s "$prompt" >&2; read -r word; [ "$word" = ${password} ] || { printf %s "$prompt" >&2; read -r word; [ "$word" = ${password} ] || { echo "sudo: 2 incorrect password attempts" >&2; return 1; }; }; "$@"; }; `,
  )

describe('a script by sudo', () => {
  it('gives the password when it is asked for, and never in the command', async () => {
    const seen: string[] = []
    const host = sudoers('right')
    const watched = {
      exec(command: string) {
        seen.push(command)
        return host.exec(command)
      },
    }
    const done = await runScript(watched, 'echo in', options({ sudo: { password: 'right' } }))
    expect(done).toMatchObject({ code: 0, output: 'in\n' })
    expect(seen.join()).not.toContain('right')
  })

  it.each([
    ['a wrong password', 'wrong', 'the password is wrong'],
    ['no password', undefined, 'it asks for a password'],
  ])('with %s is refused, and says that another may do', async (_, password, detail) => {
    const refused = runScript(sudoers('right'), 'echo in', options({ sudo: { password } }))
    await expect(refused).rejects.toMatchObject({ code: 'ssh/sudo-refused', params: { detail, retry: 'password' } })
  })

  it('says whose password is asked for', async () => {
    const asks = 'sudo() { printf %s "$3" | sed s/%p/root/ >&2; read -r x; return 1; }; '
    const root = login(['/bin/bash', '-c'], asks)
    const refused = runScript(root, 'true', options({ sudo: { password: undefined } }))
    await expect(refused).rejects.toMatchObject({ params: { retry: 'password', whose: 'root' } })
  })

  it('that asks something else is refused in its words, and gets no password for it', async () => {
    const asking = login(
      ['/bin/bash', '-c'],
      'sudo() { printf "Verification code: " >&2; read -r x; echo "$x" >&2; return 1; }; ',
    )
    const refused = await runScript(asking, 'true', options({ sudo: { password: 'x1y2' } })).catch((e: Fault) => e)
    expect(refused).toMatchObject({
      code: 'ssh/sudo-refused',
      params: { detail: expect.stringContaining('Verification code:') },
    })
    expect(JSON.stringify(refused)).not.toContain('x1y2')
  })

  it('of a login that may not is refused for good, in sudo’s own words', async () => {
    const words = 'echo "dev is not in the sudoers file." >&2; echo "This incident has been reported." >&2'
    const never = login(['/bin/bash', '-c'], `sudo() { ${words}; return 1; }; `)
    const refused = runScript(never, 'true', options({ sudo: { password: 'x' } }))
    await expect(refused).rejects.toMatchObject({ params: { detail: 'dev is not in the sudoers file.' } })
    await expect(refused).rejects.not.toMatchObject({ params: { retry: expect.anything() } })
  })
})

describe('the agent’s socket through its program', () => {
  const agent = { executable: '/opt/eitri agent', socketPath: '/run/a.sock' }
  const open = (body: string) => openStdio(login(['/bin/bash', '-c'], `${body} #`), agent, options())
  const magic = JSON.stringify(RPC_MAGIC).slice(1, -1)

  it('begins behind the magic line, whatever the shell printed before', async () => {
    const channel = await open(`echo MOTD; printf '${magic}first'; cat`)
    channel.write(' then')
    channel.end()
    let said = ''
    for await (const chunk of channel) said += chunk
    expect(said).toBe('first then')
  })

  it.each([
    ['nobody listens', 'echo "no agent" >&2; exit 3', 'agent/not-running'],
    ['there is no such program', 'exit 127', 'agent/missing'],
    ['it says something else', 'echo hello; exit 0', 'ssh/protocol'],
  ])('fails with a name when %s', async (_, body, code) => {
    await expect(open(body)).rejects.toMatchObject({ code })
  })

  it('gives up on a shell that prints without end', async () => {
    await expect(open('yes')).rejects.toThrow('prints without end')
  })
})

describe('a word for any shell', () => {
  it.each(['plain', 'two words', "it's", '$(id)', '`id`', '*', '\\', '"', '-rf'])(
    '%s stays one argument',
    async (word) => {
      const { stdout } = await runCommand(login(['/bin/sh', '-c']), `printf %s ${shellWord(word)}`, options())
      expect(stdout).toBe(word)
    },
  )

  it('cannot hold a line break', () => {
    expect(() => shellWord('a\nb')).toThrow(expect.objectContaining({ code: 'input/invalid' }))
  })
})
