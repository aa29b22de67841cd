import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { create } from '@bufbuild/protobuf'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { agentLayout } from '../../src/agent/records/layout.ts'
import { encodeRecord, newRecord } from '../../src/agent/records/vm-record.ts'
import { VmSpecSchema } from '../../src/ipc/gen/eitri/agent/v1/vm_pb.js'
import { runProgram } from '../support/run-program.ts'

const ID = 'e'.repeat(32)
const AGENT = join(import.meta.dirname, '../../src/agent/index.ts')

describe('what the agent says of a host by itself, with none running', () => {
  let stateDir: string
  beforeEach(async () => {
    stateDir = await mkdtemp(join(tmpdir(), 'eitri-doctor-'))
  })
  afterEach(() => rm(stateDir, { recursive: true }))

  const agent = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const places = ['--state-dir', stateDir, '--socket', join(stateDir, 'none.sock')]
    const options = { env: { ...process.env, ...env }, timeoutMs: 60_000 }
    const { code, stdout, stderr } = await runProgram(process.execPath, [AGENT, ...args, ...places], options)
    return { code, out: stdout, err: stderr }
  }

  it('the doctor looks at this very host, and leaves nothing behind', async () => {
    const { code, out } = await agent(['doctor', '--json'])
    const { checks, missing } = JSON.parse(out)
    const stateOf = (part: string) => checks.find((check: { part: string }) => check.part === part)?.state
    expect([stateOf('agent program'), stateOf('state directory'), stateOf('hypervisor')]).toEqual(['ok', 'ok', 'ok'])
    expect(stateOf('agent')).toBe('warning')
    expect(missing).toEqual([])
    expect(code).toBe(0)
    expect(await readdir(stateDir)).toEqual([])
  })

  it('the doctor ends with 3 where no hypervisor is, and names the command', async () => {
    const { code, out } = await agent(['doctor'], { PATH: '/nonexistent' })
    expect(code).toBe(3)
    expect(out).toMatch(/^MISSING {2}hypervisor +qemu-system-x86_64 is not installed\n.*No VM can run here/m)
  })

  it('show-command prints each argument on a line of its own from the records alone', async () => {
    const vm = agentLayout(stateDir).vmDir(ID)
    await mkdir(vm.dir, { recursive: true })
    const spec = create(VmSpecSchema, { vmId: ID, name: 'web', vcpus: 3, memMb: 96, imageSha256: '1'.repeat(64) })
    await writeFile(vm.record, encodeRecord(newRecord(spec)))
    const { code, out } = await agent(['show-command', 'web'])
    expect(code).toBe(0)
    expect(out).toMatch(/^ {2}qemu-system-x86_64 +# the hypervisor/m)
    expect(out).toMatch(/^ {2}-smp +# vCPUs\n {2}3$/m)
    const json = JSON.parse((await agent(['show-command', ID, '--json'])).out)
    expect(json).toMatchObject({ name: 'web', running: false, args: expect.arrayContaining(['-m', '96']) })
    expect(await readdir(stateDir)).toEqual(['vms'])
  })

  it('show-command of a VM nobody knows ends with 1 and says so', async () => {
    const { code, err } = await agent(['show-command', 'nobody'])
    expect(code).toBe(1)
    expect(err).toBe('eitri-agent: There is no VM nobody. Nothing was changed. See the names with "eitri vm list".\n')
  })
})
