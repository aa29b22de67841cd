import type { Command } from 'commander'
import { CLOCK_POLICIES } from '../../ipc/clock-policy.ts'
import { checkedUserData } from '../../ipc/cloud-init/wire.ts'
import { check, DEFAULT_SIZE } from '../../ipc/rules.ts'
import { KiB, LIMITS } from '../../ipc/units.ts'
import { findingLines, refuseErrors } from './cloud-init-findings.ts'
import type { CommandContext, Runner } from './context.ts'
import { fileOf, keyValue, several, wholeNumber } from './options.ts'
import { answerVm, waited } from './vm-answer.ts'
import { waitState } from './wait-vm.ts'

const CREATE_MS = 30 * 60_000

interface CreateOptions {
  host?: string
  image?: string
  imageUrl?: string
  imageSha256?: string
  vcpus?: number
  memMb?: number
  diskGb?: number
  network?: string
  cloudInit?: string
  sshKey?: string[]
  backend?: string
  clockPolicy?: string
  label?: Record<string, string>
  power?: string
  autostart?: boolean
  ifAbsent?: boolean
  wait?: boolean | string
}

export function createCommand(vm: Command, run: Runner): void {
  run(
    vm
      .command('create <name>')
      .description('make a VM')
      .option('--host <name>', 'where; else the only host, else the one with most free')
      .option('--image <name>', "what it is made of; else the store's default")
      .option('--image-url <url>', 'an image fetched by the host, with --image-sha256')
      .option('--image-sha256 <hex>', 'digest of that image')
      .option('--vcpus <n>', 'virtual processors', wholeNumber)
      .option('--mem-mb <n>', 'memory, MiB', wholeNumber)
      .option('--disk-gb <n>', 'disk, GiB', wholeNumber)
      .option('--network <name>', "a second card on this network of the host's operator, see eitri network list")
      .option('--cloud-init <file>', 'user-data')
      .option('--ssh-key <file>', 'public keys that may sign in; may be given several times', several)
      .option('--backend <name>', 'qemu, cloud-hypervisor or vfkit')
      .option('--clock-policy <policy>', `who keeps its clock: ${CLOCK_POLICIES.join(', ')}; else auto`)
      .option('--label <key=value>', 'may be given several times', keyValue)
      .option('--power <power>', 'running or stopped')
      .option('--autostart', 'start it with its host (the default)')
      .option('--no-autostart', 'leave it off when its host starts')
      .option('--if-absent', 'be content when a VM of this name is there')
      .option('--wait [state]', 'until it is so: ready, or stopped with --power stopped'),
    createVm,
  )
}

async function createVm(context: CommandContext, name: string, options: CreateOptions): Promise<void> {
  context.deadline(options.wait ? CREATE_MS : undefined)
  if (typeof options.wait === 'string') waitState(options.wait)
  const { vcpus, memMb, diskGb } = options
  const request = {
    name,
    host: options.host ?? '',
    image: options.image ?? '',
    imageUrl: options.imageUrl ?? '',
    imageSha256: options.imageSha256 ?? '',
    cloudInit: await cloudInit(context, options),
    sshAuthorizedKeys: await publicKeys(options.sshKey ?? []),
    network: options.network ?? '',
    backend: options.backend ?? '',
    power: options.power ?? 'running',
    clockPolicy: options.clockPolicy ?? '',
    labels: options.label ?? {},
  }
  const sizes = { vcpus, memMb, diskGb }
  const given = Object.fromEntries(Object.entries(sizes).filter(([, value]) => value !== undefined)) as Partial<
    typeof DEFAULT_SIZE
  >
  check('createVm', { ...request, ...DEFAULT_SIZE, ...given, vmId: '' })
  const fleet = await context.fleet()
  const { vm } = await fleet.vms.createVm(
    {
      ...request,
      ...given,
      ifAbsent: options.ifAbsent ?? false,
      ...(options.autostart === undefined ? {} : { autostart: options.autostart }),
    },
    { signal: context.signal },
  )
  const otherwise = request.power === 'stopped' ? 'stopped' : 'ready'
  await answerVm(context, await waited(context, fleet, vm, options, otherwise), name)
}

/** The file as it is; findings are noted, and an error stops it unless the VM may be there already. */
async function cloudInit(context: CommandContext, options: CreateOptions): Promise<Uint8Array<ArrayBuffer>> {
  const { cloudInit: file, ifAbsent } = options
  if (file === undefined) return new Uint8Array()
  const bytes = await fileOf('cloud_init', file, LIMITS.cloudInitBytes)
  const answer = checkedUserData(bytes)
  for (const line of findingLines(file, answer)) context.note(line)
  if (!ifAbsent) refuseErrors(file, answer)
  return bytes
}

async function publicKeys(files: string[]): Promise<string[]> {
  const texts = await Promise.all(files.map((file) => fileOf('ssh_key', file, 64 * KiB)))
  return texts.flatMap((text) =>
    text
      .toString('utf8')
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '' && !line.startsWith('#')),
  )
}
