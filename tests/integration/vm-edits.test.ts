import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootSector } from '../support/boot-sector.ts'
import { ConsoleViewer } from '../support/console-client.ts'
import { Desktop } from '../support/eitri.ts'
import { connected } from '../support/fleet.ts'
import { writeOva } from '../support/ova.ts'

const BOOT_MS = 120_000
const GiB = 1024 ** 3

describe('VMs of this computer', { timeout: 300_000 }, () => {
  let desktop: Desktop
  let dir: string
  const viewers: ConsoleViewer[] = []

  beforeAll(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'eitri-edits-'))
    desktop = await new Desktop().start()
    await desktop.must(['host', 'add', 'here', '--local'], { timeoutMs: 90_000 })
    await connected(desktop, 'here')
    await desktop.buildTiny()
  }, 300_000)
  afterAll(async () => {
    for (const viewer of viewers) await viewer.close()
    await desktop?.close()
    fs.rmSync(dir, { recursive: true, force: true })
  }, 60_000)

  /** The console of a tiny guest at its prompt. */
  async function prompt(vm: string, after = 0) {
    const viewer = viewers.find((each) => each.vm === vm) ?? new ConsoleViewer(() => desktop.apiSocket, vm)
    if (!viewers.includes(viewer)) viewers.push(viewer)
    await viewer.waitFor(/tiny guest \S+ ready[\s\S]*:~# /, BOOT_MS, after)
    return {
      /** Where the text ends now. */
      end: () => viewer.text.length,
      async run(command: string): Promise<string> {
        const from = viewer.text.length
        viewer.type(`echo "<$(${command})>"; echo do''ne\n`)
        const [, answer = ''] = await viewer.waitFor(/<([^<>$]*)>\r?\ndone/, 60_000, from)
        return answer.trim()
      },
    }
  }
  const shown = (vm: string) => desktop.must(['vm', 'show', vm])
  const memMb = async (guest: { run(command: string): Promise<string> }) =>
    Number(await guest.run("awk '/MemTotal/ { print int($2 / 1024) }' /proc/meminfo"))
  const diskBytes = async (guest: { run(command: string): Promise<string> }) =>
    Number(await guest.run('cat /sys/block/vda/size')) * 512
  const identity = async (guest: { run(command: string): Promise<string> }) => ({
    name: await guest.run('hostname'),
    mac: await guest.run('cat /sys/class/net/e*/address'),
    uuid: await guest.run('cat /sys/class/dmi/id/product_uuid'),
  })

  it('are edited: the running guest gets a larger disk at once, more memory at its restart, and says so', async () => {
    await desktop.must(['vm', 'create', 'web', '--wait'], { timeoutMs: BOOT_MS })
    let guest = await prompt('web')
    await guest.run('echo kept >/data/note; sync')
    expect(await diskBytes(guest)).toBe(GiB)
    const before = await memMb(guest)
    expect(before).toBeLessThan(96)

    await desktop.must(['vm', 'set', 'web', '--disk-gb', '2'])
    await expect.poll(() => diskBytes(guest), { timeout: 60_000, interval: 500 }).toBe(2 * GiB)
    expect(await guest.run('cat /data/note')).toBe('kept')

    const set = await desktop.must(['vm', 'set', 'web', '--mem-mb', '160'])
    expect(set).toMatchObject({ mem_mb: 160, needs_restart: ['mem_mb'] })
    await expect.poll(async () => (await shown('web')).needs_restart, { timeout: 30_000 }).toEqual(['mem_mb'])
    expect(await memMb(guest)).toBe(before)
    const end = guest.end()
    await desktop.must(['vm', 'restart', 'web', '--wait'], { timeoutMs: BOOT_MS })
    guest = await prompt('web', end)
    expect(await memMb(guest)).toBeGreaterThan(120)
    await expect.poll(async () => (await shown('web')).needs_restart, { timeout: 30_000 }).toEqual([])
    expect(await guest.run('cat /data/note')).toBe('kept')
    const smaller = await desktop.cli(['vm', 'set', 'web', '--disk-gb', '1'])
    expect(smaller).toMatchObject({ code: 2, stderr: expect.stringContaining('never made smaller') })
  })

  it('are cloned: the copy has the same data and another identity, and both run on their own', async () => {
    const original = await identity(await prompt('web'))
    const refused = await desktop.cli(['vm', 'clone', 'web', 'copy'], { plain: true })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('eitri vm stop web') })
    const end = (await prompt('web')).end()
    await desktop.must(['vm', 'stop', 'web', '--wait'], { timeoutMs: BOOT_MS })
    const made = await desktop.must(['vm', 'clone', 'web', 'copy', '--disk-gb', '3', '--wait'], { timeoutMs: BOOT_MS })
    expect(made).toMatchObject({ name: 'copy', created: true, power: 'running', disk_gb: 3, mem_mb: 160 })
    await desktop.must(['vm', 'start', 'web', '--wait'], { timeoutMs: BOOT_MS })
    const [copy, web] = [await prompt('copy'), await prompt('web', end)]
    expect(await copy.run('cat /data/note')).toBe('kept')
    expect(await diskBytes(copy)).toBe(3 * GiB)
    const other = await identity(copy)
    expect(other).toMatchObject({ name: 'copy' })
    expect(await identity(web)).toEqual(original)
    for (const key of ['mac', 'uuid'] as const) expect(other[key]).not.toBe(original[key])
    await copy.run('echo changed >/data/note; sync')
    expect(await web.run('cat /data/note')).toBe('kept')
  })

  it.each(['raw', 'qcow2', 'ova'])('are made of a disk file that is %s, which boots', async (kind) => {
    const raw = path.join(dir, 'disk.raw')
    fs.writeFileSync(raw, bootSector())
    fs.truncateSync(raw, 8 * 1024 * 1024)
    const file = path.join(dir, `disk.${kind}`)
    if (kind === 'qcow2') execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, file])
    if (kind === 'ova') {
      const vmdk = path.join(dir, 'disk.vmdk')
      execFileSync('qemu-img', ['convert', '-f', 'raw', '-O', 'vmdk', '-o', 'subformat=streamOptimized', raw, vmdk])
      writeOva(file, fs.readFileSync(vmdk), { manifest: true })
    }
    const name = `from-${kind}`
    const size = kind === 'ova' ? [] : ['--mem-mb', '64']
    const vm = await desktop.must(['vm', 'import', file, name, ...size, '--wait'], { timeoutMs: BOOT_MS })
    expect(vm).toMatchObject({ name, created: true, power: 'running', disk_gb: 1, image_name: name })
    if (kind === 'ova') expect(vm).toMatchObject({ vcpus: 2, mem_mb: 192 })
    await desktop.must(['vm', 'wait', name, '--console', 'sector up'], { timeoutMs: BOOT_MS })
    const { images } = await desktop.must(['image', 'list'])
    const image = images.find((each: { name: string }) => each.name === name)
    expect(image).toMatchObject({ format: kind === 'raw' ? 'raw' : 'qcow2', kind: 'disk', url: '' })
    const refused = await desktop.cli(['image', 'add', name, '--file', file], { plain: true })
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('already here') })
  })

  it('are not made of a file that names others, and nothing of it stays', async () => {
    const over = path.join(dir, 'over.qcow2')
    execFileSync('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', '/etc/passwd', '-F', 'raw', over])
    const { code, stderr } = await desktop.cli(['vm', 'import', over, 'evil'], { plain: true })
    expect({ code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('needs a backing file') })
    const { images } = await desktop.must(['image', 'list'])
    expect(images.map((each: { name: string }) => each.name)).not.toContain('evil')
    const { vms } = await desktop.must(['vm', 'list'])
    expect(vms.map((each: { name: string }) => each.name)).not.toContain('evil')
  })
})
