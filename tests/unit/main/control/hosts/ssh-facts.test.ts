import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sshFacts } from '../../../../../src/main/control/hosts/ssh-facts.ts'

let sshDir: string
beforeEach(() => {
  sshDir = mkdtempSync(join(tmpdir(), 'eitri-ssh-facts-'))
})
afterEach(() => rmSync(sshDir, { recursive: true }))

const said = (stderr: string) => async () => ({ code: 0, stdout: '', stderr })

it('says what of SSH is there', async () => {
  writeFileSync(join(sshDir, 'config'), '')
  const facts = sshFacts({ sshDir, env: { SSH_AUTH_SOCK: '/nowhere' }, keychain: true }, said('OpenSSH_9.2p1 Debian-2'))
  expect(await facts()).toEqual({
    ...{
      configPath: join(sshDir, 'config'),
      clientVersion: '9.2',
      agentSocket: '/nowhere',
      agentKeys: 0,
      keychain: true,
    },
  })
})

it('says what is not there, and asks the client once', async () => {
  let asked = 0
  const facts = sshFacts({ sshDir, env: {}, keychain: false }, async () => {
    asked++
    return undefined
  })
  expect(await facts()).toMatchObject({ configPath: '', clientVersion: '', agentSocket: '' })
  await facts()
  expect(asked).toBe(1)
})

it('takes another ssh at its word', async () => {
  expect(await sshFacts({ sshDir, env: {}, keychain: false }, said('Dropbear'))()).toMatchObject({
    clientVersion: 'another ssh',
  })
})
