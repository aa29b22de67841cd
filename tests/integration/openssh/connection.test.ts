import fs from 'node:fs'
import net from 'node:net'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { SshConnection } from '../../../src/main/control/hosts/ssh/connection.ts'
import { runCommand } from '../../../src/main/control/hosts/ssh/exec.ts'
import { runScript } from '../../../src/main/control/hosts/ssh/script.ts'
import { upload } from '../../../src/main/control/hosts/ssh/upload.ts'
import { loginsOf } from '../../support/logins.ts'
import { aPerson, dialLab, type Person } from '../../support/openssh-dial.ts'
import { type PrivateSshd, privateSshdImpossible, startPrivateSshd } from '../../support/private-sshd.ts'
import { forever } from '../../support/ssh-login.ts'

const impossible = privateSshdImpossible()
const options = { host: 'lab', signal: forever, timeoutMs: 15_000 }

describe('a connection carried by the system’s ssh', () => {
  let sshd: PrivateSshd
  let person: Person
  let connection: SshConnection
  beforeAll(async () => {
    if (impossible !== undefined) return
    sshd = await startPrivateSshd()
    person = aPerson()
    connection = await (await dialLab(person, sshd)).signedIn
  })
  afterAll(async () => {
    connection?.close()
    await connection?.closed
    await sshd?.close()
    person?.remove()
  })
  beforeEach((test) => test.skip(impossible !== undefined, impossible))

  it('knows the host key it was made with', () => {
    expect(connection.hostKey).toMatchObject({ type: 'ssh-ed25519', fingerprint: sshd.hostKey.fingerprint })
    expect(connection.client).toBe('openssh')
  })

  it('runs commands with their input, both outputs and their status', async () => {
    const result = await runCommand(connection, 'cat; echo problem >&2; exit 7', { ...options, stdin: 'words in' })
    expect(result).toEqual({ code: 7, stdout: 'words in', stderr: 'problem\n' })
  })

  it('tells a command ended by a signal from one that was cut off', async () => {
    expect(await runCommand(connection, 'kill -9 $$', options)).toMatchObject({ code: 255 })
    expect(await runCommand(connection, 'exit 255', options)).toMatchObject({ code: 255 })
  })

  it('runs scripts framed by marks, whatever the login shell prints', async () => {
    expect(await runScript(connection, 'echo one; exit 3', options)).toMatchObject({ code: 3, output: 'one\n' })
  })

  it('sends a file whole, by a command: there is no other way', async () => {
    const source = path.join(person.dir, 'source')
    const bytes = Buffer.alloc(5 << 20, 'eitri')
    fs.writeFileSync(source, bytes)
    const target = path.join(sshd.dir, 'arrived')
    let told = 0
    const onProgress = (done: number) => {
      told = done
    }
    await upload(connection, { host: 'lab', source, target, signal: forever, onProgress })
    expect(fs.readFileSync(target).equals(bytes)).toBe(true)
    expect(told).toBe(bytes.length)
  })

  it('opens a unix socket and a TCP port of the host, in both directions', async () => {
    const socketPath = path.join(sshd.dir, 'echo.sock')
    const echo = (socket: net.Socket) => {
      socket.write('first')
      socket.pipe(socket)
    }
    const unix = net.createServer(echo).listen(socketPath)
    const tcp = net.createServer(echo).listen(0, '127.0.0.1')
    await new Promise((resolve) => tcp.once('listening', resolve))
    const { port } = tcp.address() as net.AddressInfo
    for (const open of [() => connection.openSocket(socketPath), () => connection.openTcp('127.0.0.1', port)]) {
      const before = connection.rxBytes()
      const stream = await open()
      stream.write(' and back')
      let text = ''
      for await (const chunk of stream) {
        text += chunk
        if (text === 'first and back') break
      }
      expect(text).toBe('first and back')
      expect(connection.rxBytes() - before).toBe(text.length)
    }
    unix.close()
    tcp.close()
  })

  it('says that a socket, or a port, is not there', async () => {
    await expect(connection.openSocket('/nowhere.sock')).rejects.toMatchObject({ code: 'ssh/protocol' })
    await expect(connection.openTcp('127.0.0.1', 1)).rejects.toMatchObject({ code: 'ssh/protocol' })
  })

  it('has signed in once for all of this', () => expect(loginsOf(sshd)).toBe(1))

  it('has its sockets in a folder that is nobody else’s', () => {
    const [name] = person.connections()
    const folder = path.join(person.dir, name!)
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700)
    for (const file of fs.readdirSync(folder)) expect(fs.statSync(path.join(folder, file)).mode & 0o077).toBe(0)
  })
})
