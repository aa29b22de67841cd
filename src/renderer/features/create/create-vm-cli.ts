import { labelText, parseLabels } from '../vms/labels-text.ts'
import { type CreateVmDraft, keysOf, wishedPorts } from './create-vm-draft.ts'

const PLAIN = /^[A-Za-z0-9_@%+=:,./-]+$/
const quote = (word: string) => (PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)

interface Names {
  host: string
  image: string
}

/** The same request as a command line; what only fits in a file is named as one. */
export function createVmCli(draft: CreateVmDraft, names: Names): string {
  const name = draft.name || 'NAME'
  const words = ['eitri', 'vm', 'create', name]
  const add = (flag: string, value: string) => value.trim() !== '' && words.push(flag, value.trim())
  add('--host', names.host)
  add('--image', names.image)
  add('--template', draft.template)
  add('--vcpus', draft.vcpus)
  add('--mem-mb', draft.memMb)
  add('--disk-gb', draft.diskGb)
  if (keysOf(draft.sshKeys).length > 0) words.push('--ssh-key', `${name}.pub`)
  if (draft.cloudInit !== '') words.push('--cloud-init', `${name}.yaml`)
  add('--network', draft.network)
  for (const [key, value] of Object.entries(parseLabels(draft.labels)))
    words.push('--label', `${labelText([key, ''])}=${value}`)
  if (!draft.autostart) words.push('--no-autostart')
  if (draft.protected) words.push('--protect')
  if (draft.clockPolicy !== 'auto') words.push('--clock-policy', draft.clockPolicy)
  return words.map(quote).join(' ')
}

/** All of it for a shell: its files byte for byte, the VM, its ports, its template. */
export function createVmScript(draft: CreateVmDraft, names: Names): string {
  const name = draft.name || 'NAME'
  const keys = keysOf(draft.sshKeys)
  const lines = [
    ...(draft.cloudInit === '' ? [] : [`printf %s ${quote(draft.cloudInit)} > ${quote(`${name}.yaml`)}`]),
    ...(keys.length === 0 ? [] : [`printf '%s\\n' ${keys.map(quote).join(' ')} > ${quote(`${name}.pub`)}`]),
    createVmCli(draft, names),
    ...wishedPorts(draft).map(({ guestPort, hostPort, protocol }) =>
      [
        'eitri port publish',
        quote(name),
        protocol === 'udp' ? `${guestPort}/udp` : guestPort,
        ...(hostPort ? ['--host-port', hostPort] : []),
      ].join(' '),
    ),
    ...(draft.saveAs === '' ? [] : [`eitri template create ${quote(draft.saveAs)} --vm ${quote(name)}`]),
  ]
  return `${lines.join('\n')}\n`
}
