import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Asked, openAskDesk } from '../../../src/main/control/hosts/openssh/ask-desk.ts'
import { type FolderWatch, watchFolder } from '../../../src/main/control/hosts/openssh/folder-watch.ts'
import { ASK_DIR_VARIABLE } from '../../../src/main/control/hosts/openssh/programs.ts'
import { makeRunFolder, type RunFolder, sweepRunFolders } from '../../../src/main/control/hosts/openssh/run-folder.ts'
import { aPerson, dialLab, type Person } from '../../support/openssh-dial.ts'
import { childrenOf, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'

const run = promisify(execFile)

describe('the programs that the system’s ssh runs for this app', () => {
  let person: Person
  let folder: RunFolder
  let changes: FolderWatch
  let asked: Asked[]
  beforeEach(async () => {
    person = aPerson()
    folder = await makeRunFolder(person.dir)
    changes = watchFolder(folder.dir)
    asked = []
  })
  afterEach(async () => {
    changes.close()
    await folder.remove()
    person.remove()
  })

  const desk = (answer: (asked: Asked) => string[] | undefined) =>
    openAskDesk(folder.dir, changes, async (one) => {
      asked.push(one)
      return answer(one)
    })
  const ask = (args: string[], env: Record<string, string> = {}) =>
    run(folder.askProgram, args, { env: { PATH: process.env['PATH'], [ASK_DIR_VARIABLE]: folder.dir, ...env } }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { code: number; stdout: string }) => ({ code, stdout }),
    )

  it('ask for a prompt and print the answer as it is', async () => {
    const words = ` '"$(id)\`\\n%s äß -n `
    const open = desk(() => [words])
    expect(await ask(['Your code, "please": '])).toEqual({ code: 0, stdout: `${words}\n` })
    expect(asked).toEqual([{ kind: 'prompt', hint: '', text: 'Your code, "please": ' }])
    open.close()
  })

  it('end with 1 when there is no answer', async () => {
    const open = desk(() => undefined)
    expect(await ask(['x'])).toEqual({ code: 1, stdout: '' })
    open.close()
  })

  it('only tell what ssh only tells, and are not waited for', async () => {
    const open = desk(() => [])
    expect(await ask(['Touch it'], { SSH_ASKPASS_PROMPT: 'none' })).toEqual({ code: 0, stdout: '' })
    await expect.poll(() => asked).toEqual([{ kind: 'prompt', hint: 'none', text: 'Touch it' }])
    open.close()
  })

  it('ask about a host key, and run the person’s own command after ours', async () => {
    const open = desk(() => ['h ssh-ed25519 AAAA'])
    const result = await ask(['host-key', 'HOSTNAME', 'ssh-ed25519', 'AAAA', 'h', '--', 'echo', 'theirs $(id)'])
    expect(result).toEqual({ code: 0, stdout: 'h ssh-ed25519 AAAA\ntheirs $(id)\n' })
    expect(asked).toMatchObject([{ kind: 'host-key', reason: 'HOSTNAME', name: 'h' }])
    open.close()
  })

  it('leave nothing behind but the folder’s own files', async () => {
    const open = desk(() => ['x'])
    await Promise.all(Array.from({ length: 8 }, (_, n) => ask([`question ${n}`])))
    expect(asked).toHaveLength(8)
    expect(fs.readdirSync(folder.dir).sort()).toEqual(['ask', 'held'])
    open.close()
  })

  it('end what they hold, and all it started, with whoever holds them', async () => {
    const mark = path.join(person.dir, 'started')
    const script = `sleep 1000 & echo $! >>${mark}; echo $$ >>${mark}; wait`
    const held = spawn(folder.heldProgram, ['/bin/sh', '-c', script], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    const pids = () => (fs.existsSync(mark) ? fs.readFileSync(mark, 'utf8').trim().split('\n').map(Number) : [])
    await expect.poll(() => pids().length, { timeout: 5_000 }).toBe(2)
    const ended = once(held, 'exit')
    held.stdin!.destroy()
    await ended
    await expect.poll(() => pids().filter((pid) => fs.existsSync(`/proc/${pid}`)), { timeout: 5_000 }).toEqual([])
  })

  it('hand on how it ended', async () => {
    const held = spawn(folder.heldProgram, ['/bin/sh', '-c', 'exit 7'], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    expect((await once(held, 'exit'))[0]).toBe(7)
    held.stdin!.destroy()
  })
})

describe('folders of connections', () => {
  it('are made where a socket fits, else among temporary files', async () => {
    const person = aPerson()
    const deep = path.join(person.dir, 'd'.repeat(100))
    const made = await makeRunFolder(deep)
    expect(made.dir.startsWith(deep)).toBe(false)
    expect(Buffer.byteLength(made.controlSocket)).toBeLessThan(86)
    await made.remove()
    expect(fs.existsSync(made.dir)).toBe(false)
    person.remove()
  })

  it('of a control plane that was killed are swept, those of a living one are not', async () => {
    const person = aPerson()
    const dead = spawn('true')
    await once(dead, 'exit')
    const left = path.join(person.dir, `s-${dead.pid}-abc123`)
    fs.mkdirSync(left)
    const mine = await makeRunFolder(person.dir)
    await sweepRunFolders(person.dir)
    expect([fs.existsSync(left), fs.existsSync(mine.dir)]).toEqual([false, true])
    person.remove()
  })
})

describe('a control plane that is killed', () => {
  it('takes its connections of the system’s ssh along', async (test) => {
    const impossible = privateSshdImpossible()
    test.skip(impossible !== undefined, impossible)
    await using sshd = await startPrivateSshd()
    const person = aPerson()
    const support = new URL('../../support/openssh-dial.ts', import.meta.url).href
    const lab = JSON.stringify({ port: sshd.port, user: sshd.user, keyFile: sshd.keyFile })
    const script = `import { aPerson, dialLab } from ${JSON.stringify(support)}
      const person = { ...aPerson(), dir: ${JSON.stringify(person.dir)}, sshDir: ${JSON.stringify(person.sshDir)} }
      const connection = await (await dialLab(person, ${lab})).signedIn
      const channel = await connection.exec('sleep 1000')
      console.log('open')`
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    const all = (pid: number): number[] => [pid, ...childrenOf(pid).flatMap(all)]
    const mine = all(child.pid!)
    expect(mine.length).toBeGreaterThan(3)
    const served = sshd.sessions()
    expect(served.length).toBeGreaterThan(0)
    child.kill('SIGKILL')
    await expect.poll(() => mine.filter((pid) => fs.existsSync(`/proc/${pid}`)), { timeout: 10_000 }).toEqual([])
    await expect.poll(() => sshd.sessions(), { timeout: 10_000 }).toEqual([])
    person.remove()
  })

  it('ends a connection at once for whoever uses it', async (test) => {
    const impossible = privateSshdImpossible()
    test.skip(impossible !== undefined, impossible)
    await using sshd = await startPrivateSshd()
    const person = aPerson()
    const connection = await (await dialLab(person, sshd)).signedIn
    const channel = await connection.exec('sleep 1000')
    channel.resume()
    const closed = once(channel, 'close')
    for (const pid of sshd.sessions()) process.kill(pid, 'SIGKILL')
    expect(await connection.closed).toMatchObject({ code: 'ssh/lost' })
    await closed
    expect(channel.lost).toMatchObject({ code: 'ssh/lost' })
    await expect(connection.exec('true')).rejects.toMatchObject({ code: 'ssh/lost' })
    await expect.poll(() => person.connections()).toEqual([])
    person.remove()
  })
})
