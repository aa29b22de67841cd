import type { Command } from 'commander'
import { CLOCK_POLICIES } from '../../ipc/clock-policy.ts'
import { checkedUserData } from '../../ipc/cloud-init/wire.ts'
import { check, DEFAULT_SIZE } from '../../ipc/rules.ts'
import { KiB, LIMITS } from '../../ipc/units.ts'
import type { FleetClient } from '../fleet-client.ts'
import { findingLines, refuseErrors } from './cloud-init-findings.ts'
import type { CommandContext, Runner } from './context.ts'
import { fileOf, keyValue, seconds, several, wholeNumber } from './options.ts'
import { answerVm, noteHeld, waited } from './vm-answer.ts'
import { waitState } from './wait-vm.ts'

const CREATE_MS = 30 * 60_000

/** Stands for the name the control plane will choose. */
const UNNAMED = 'sandbox'

export interface CreateOptions {
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
  autostartDelay?: number
  autostartOrder?: number
  protect?: boolean
  template?: string
  ifAbsent?: boolean
  wait?: boolean | string
}

export function createCommand(vm: Command, run: Runner): void {
  const command = vm
    .command('create [name]')
    .description('make a VM; without a name it is called sandbox-…')
    .option('--image <name>', "what it is made of; else the store's default")
    .option('--image-url <url>', 'an image fetched by the host, with --image-sha256')
    .option('--image-sha256 <hex>', 'digest of that image')
    .option('--template <name>', 'gives what is not said here, see eitri template list')
  run(createOptions(command), createVm)
}

/** What a new VM may be told whatever it is made of. */
export function createOptions(command: Command): Command {
  return command
    .option('--host <name>', 'where; else the only host, else the one with most free')
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
    .option('--autostart-delay <time>', 'start it so long after its host booted', seconds)
    .option('--autostart-order <n>', 'lower ones start first', wholeNumber)
    .option('--protect', 'refuse to delete it')
    .option('--if-absent', 'be content when a VM of this name is there')
    .option('--wait [state]', 'until it is so: ready, or stopped with --power stopped')
}

async function createVm(context: CommandContext, name: string | undefined, options: CreateOptions): Promise<void> {
  context.deadline(options.wait ? CREATE_MS : undefined)
  const request = await createRequest(context, name ?? '', options)
  await makeVm(context, await context.fleet(), request, options)
}

export type CreateRequest = Awaited<ReturnType<typeof createRequest>>

/** What the options ask for, checked as far as that goes without the fleet. Raises input/invalid and cloud-init/invalid. */
export async function createRequest(context: CommandContext, name: string, options: CreateOptions) {
  if (typeof options.wait === 'string') waitState(options.wait)
  const { vcpus, memMb, diskGb } = options
  const request = {
    name,
    host: options.host ?? '',
    image: options.image ?? '',
    imageUrl: options.imageUrl ?? '',
    imageSha256: options.imageSha256 ?? '',
    template: options.template ?? '',
    cloudInit: await cloudInit(context, options),
    sshAuthorizedKeys: await publicKeys(options.sshKey ?? []),
    network: options.network ?? '',
    backend: options.backend ?? '',
    power: options.power ?? 'running',
    clockPolicy: options.clockPolicy ?? '',
    labels: options.label ?? {},
    autostartDelayS: options.autostartDelay ?? 0,
    autostartOrder: options.autostartOrder ?? 0,
    protected: options.protect ?? false,
  }
  const sizes = { vcpus, memMb, diskGb }
  const given = Object.fromEntries(Object.entries(sizes).filter(([, value]) => value !== undefined)) as Partial<
    typeof DEFAULT_SIZE
  >
  check('createVm', { ...request, ...DEFAULT_SIZE, ...given, name: name || UNNAMED, vmId: '' })
  return {
    ...request,
    ...given,
    ifAbsent: options.ifAbsent ?? false,
    ...(options.autostart === undefined ? {} : { autostart: options.autostart }),
  }
}

/** The VM, as far on as `--wait` says, and its answer. */
export async function makeVm(
  context: CommandContext,
  fleet: FleetClient,
  request: CreateRequest,
  options: CreateOptions,
): Promise<void> {
  const { vm, created } = await fleet.vms.createVm(request, { signal: context.signal })
  const otherwise = request.power === 'stopped' ? 'stopped' : 'ready'
  await noteHeld(context, fleet, vm, options)
  await answerVm(context, await waited(context, fleet, vm, options, otherwise), request.name, { created })
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
