import type { Command } from 'commander'
import { printable } from '../../ipc/fault-text.ts'
import {
  type Ca,
  CaSchema,
  ListCasResponseSchema,
  RetireCaResponseSchema,
} from '../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { check } from '../../ipc/rules.ts'
import { type CommandContext, KEYCHAIN_MS, type Runner } from './context.ts'
import { keyFile } from './options.ts'
import { invalid } from './outcome.ts'
import { askLine, interactive, stdinLines } from './prompts.ts'
import { sheet, table } from './table.ts'

interface NewCaOptions {
  kind: string
  signing?: boolean
  ifAbsent?: boolean
}

interface ImportOptions extends NewCaOptions {
  privateKey?: string
  publicKey?: string
  passphraseStdin?: boolean
}

export function caCommands(root: Command, run: Runner): void {
  const ca = root.command('ca').description('SSH authorities: whose certificates guests and clients trust')
  run(ca.command('list').description('all of the tenant, and what is wrong with their keys'), async (context) => {
    context.deadline(KEYCHAIN_MS)
    const answer = await (await context.fleet()).trust.listCas({}, { signal: context.signal })
    await context.answer(ListCasResponseSchema, answer, () =>
      table(
        ['NAME', 'KIND', 'STATE', 'HELD', 'USED BY', 'FINGERPRINT', 'PROBLEM'],
        answer.cas.map((c) => [c.name, c.kind, c.state, c.held, vms(c.usedBy), c.fingerprint, c.problem]),
      ),
    )
  })
  run(
    newCa(ca.command('create <name>').description('an authority with a new key')),
    async (context, name: string, options: NewCaOptions) => {
      context.deadline(KEYCHAIN_MS)
      const request = check('createCa', requestOf(name, options))
      const answer = await (await context.fleet()).trust.createCa(request, { signal: context.signal })
      await answerNew(context, answer)
    },
  )
  run(
    newCa(ca.command('import <name>').description('an authority whose key is there already'))
      .option('--private-key <file>', 'OpenSSH or PEM private key; it signs here from now on')
      .option('--public-key <file>', 'only its public key: the private one is kept elsewhere')
      .option('--passphrase-stdin', 'standard input: the passphrase of the private key'),
    importCa,
  )
  run(
    ca.command('use <ca>').description('sign with this one from now on; the one before stays trusted'),
    async (context, ref: string) => {
      context.deadline(KEYCHAIN_MS)
      const answer = await (await context.fleet()).trust.setSigningCa(check('caRef', { ca: ref }), {
        signal: context.signal,
      })
      if (answer.ca) await context.answer(CaSchema, answer.ca, () => caSheet(answer.ca!))
    },
  )
  run(
    ca
      .command('retire <ca>')
      .description('sign with it no more; refused while a VM trusts no other')
      .option('--force', 'although nobody gets into those VMs by certificate any more'),
    async (context, ref: string, options: { force?: boolean }) => {
      context.deadline()
      const request = check('retireCa', { ca: ref, force: options.force ?? false })
      const answer = await (await context.fleet()).trust.retireCa(request, { signal: context.signal })
      await context.answer(RetireCaResponseSchema, answer, () =>
        answer.cutOff.length === 0 ? '' : `By certificate nobody gets into: ${printable(answer.cutOff.join(', '))}.\n`,
      )
    },
  )
}

const newCa = (command: Command): Command =>
  command
    .requiredOption('--kind <kind>', 'host (signs keys of guests) or user (signs keys of people); needed')
    .option('--signing', 'sign with it from now on; the first of its kind does anyway')
    .option('--if-absent', 'be content when it is there already')

const requestOf = (name: string, { kind, signing, ifAbsent }: NewCaOptions) => ({
  name,
  kind,
  makeSigning: signing ?? false,
  ifAbsent: ifAbsent ?? false,
})

async function importCa(context: CommandContext, name: string, options: ImportOptions): Promise<void> {
  context.deadline(KEYCHAIN_MS)
  const { privateKey: file, publicKey: publicFile } = options
  if ((file === undefined) === (publicFile === undefined))
    throw invalid('ca import', '', 'give either --private-key FILE or --public-key FILE')
  const text = async (option: string, path: string | undefined) =>
    path === undefined ? '' : await keyFile(option, path)
  const privateKey = await text('private_key', file)
  const request = check('importCa', {
    ...requestOf(name, options),
    privateKey,
    publicKey: (await text('public_key', publicFile)).trim(),
    passphrase: await passphraseOf(context, privateKey, options),
  })
  await answerNew(context, await (await context.fleet()).trust.importCa(request, { signal: context.signal }))
}

/** Asked of a person only for a key that has one, as far as its text tells. */
async function passphraseOf(context: CommandContext, key: string, options: ImportOptions): Promise<string> {
  if (options.passphraseStdin) return (await stdinLines(context.io, 1))[0] ?? ''
  const locked = /ENCRYPTED/.test(key) || isBcrypt(key)
  return locked && interactive(context.io)
    ? await askLine(context.io, 'Passphrase of the private key:', context.signal, true)
    : ''
}

const isBcrypt = (key: string): boolean =>
  Buffer.from(/BEGIN OPENSSH PRIVATE KEY-----([\s\S]+)-----END/.exec(key)?.[1] ?? '', 'base64')
    .subarray(0, 64)
    .includes('bcrypt')

/** The CA; whether the command made it stands beside its fields. */
async function answerNew(
  context: CommandContext,
  { ca, created }: { ca?: Ca | undefined; created: boolean },
): Promise<void> {
  if (!ca) return
  if (!created && !context.json) context.note(`${ca.kind} CA ${ca.name} is there already.`)
  await context.answer(CaSchema, ca, () => caSheet(ca), { created })
}

const vms = (count: number): string => `${count} VM${count === 1 ? '' : 's'}`

const caSheet = (c: Ca): string =>
  sheet([
    ['name', c.name],
    ['kind', c.kind],
    ['state', c.state],
    ['private key', c.held],
    ['problem', c.problem],
    ['used by', vms(c.usedBy)],
    ['fingerprint', c.fingerprint],
    ['public key', c.publicKey],
  ])
