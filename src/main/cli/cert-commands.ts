import { writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt'
import type { Command } from 'commander'
import { Fault } from '../../ipc/faults.ts'
import {
  type Certificate,
  CertificateSchema,
  IssueCertificateResponseSchema,
  ListCertificatesResponseSchema,
  ListRevokedResponseSchema,
  ListTrustResponseSchema,
  type RevokedCertificate,
  RevokedCertificateSchema,
  type VmTrust,
} from '../../ipc/gen/eitri/fleet/v1/trust_pb.js'
import { DEFAULT_LOGIN } from '../../ipc/names.ts'
import { check } from '../../ipc/rules.ts'
import { writeTrouble } from '../file-words.ts'
import { type CommandContext, KEYCHAIN_MS, type Runner } from './context.ts'
import { atMostThousand, keyFile, login as loginName } from './options.ts'
import { invalid } from './outcome.ts'
import { sheet, table } from './table.ts'

interface IssueOptions {
  key?: string
  login?: string
  out?: string
}

const OWN_KEYS = ['id_ed25519.pub', 'id_ecdsa.pub', 'id_rsa.pub']

export function certCommands(root: Command, run: Runner): void {
  const cert = root.command('cert').description('SSH certificates: issued, revoked, and who trusts what')
  run(
    cert
      .command('issue [vm]')
      .description('certify a key of yours for half an hour, for a VM or for all of the tenant')
      .option('--key <file>', 'public key to certify; without it the first of ~/.ssh/id_ed25519.pub, id_ecdsa, id_rsa')
      .option('--login <name>', `name in the guest (default "${DEFAULT_LOGIN}")`, loginName)
      .option('--out <file>', 'write it there, as ssh looks for it beside the key: KEY-cert.pub'),
    issue,
  )
  run(
    cert
      .command('list')
      .description('certificates issued here that are still good')
      .option('--kind <kind>', 'host or user')
      .option('--expired', 'also those past their end, as long as they are remembered')
      .option('--limit <n>', 'at most so many, the newest; up to 1000', atMostThousand),
    async (context, options: { kind?: string; expired?: boolean; limit?: number }) => {
      context.deadline()
      const { kind = '', expired = false, limit = 0 } = options
      const request = check('listCertificates', { kind, expired, limit, serial: '' })
      const answer = await (await context.fleet()).trust.listCertificates(request, { signal: context.signal })
      await context.answer(ListCertificatesResponseSchema, answer, () => certificateTable(answer.certificates))
    },
  )
  run(cert.command('show <serial>').description('one that was issued here'), async (context, serial: string) => {
    context.deadline()
    const request = check('listCertificates', { kind: '', expired: true, limit: 1, serial })
    const { trust } = await context.fleet()
    const [found] = (await trust.listCertificates(request, { signal: context.signal })).certificates
    if (!found) throw new Fault('certificate/not-found', 'permanent', { serial })
    await context.answer(CertificateSchema, found, () => certificateSheet(found))
  })
  run(
    cert
      .command('revoke [serial]')
      .description('guests refuse it once their list is written; a session that is open goes on')
      .option('--certificate <file>', 'the certificate itself instead of its serial')
      .option('--reason <text>', 'for whoever looks later'),
    revoke,
  )
  run(cert.command('revoked').description('what is revoked, and the list guests get'), async (context) => {
    context.deadline()
    const answer = await (await context.fleet()).trust.listRevoked({}, { signal: context.signal })
    await context.answer(ListRevokedResponseSchema, answer, () => revokedTable(answer.revoked))
  })
  run(cert.command('trust').description('which VM trusts which authority, and who is cut off'), async (context) => {
    context.deadline(KEYCHAIN_MS)
    const { trust } = await context.fleet()
    const options = { signal: context.signal }
    const [answer, { cas }] = await Promise.all([trust.listTrust({}, options), trust.listCas({}, options)])
    const names = new Map(cas.map((ca) => [ca.fingerprint, ca.name]))
    await context.answer(ListTrustResponseSchema, answer, () => trustTable(answer.vms, names))
  })
}

async function issue(context: CommandContext, vm: string | undefined, options: IssueOptions): Promise<void> {
  context.deadline(KEYCHAIN_MS)
  const publicKey = await ownKey(context, options.key)
  const request = check('issueCertificate', { vm: vm ?? '', publicKey, login: options.login ?? DEFAULT_LOGIN })
  const answer = await (await context.fleet()).trust.issueCertificate(request, { signal: context.signal })
  if (options.out !== undefined) await written(options.out, `${answer.certificate}\n`)
  if (answer.clockDetail !== '') context.note(answer.clockDetail)
  await context.answer(IssueCertificateResponseSchema, answer, () =>
    options.out === undefined ? `${answer.certificate}\n` : certificateSheet(answer.issued!),
  )
}

async function ownKey(context: CommandContext, file: string | undefined): Promise<string> {
  const read = async (path: string) => (await keyFile('key', path)).trim()
  if (file !== undefined) return await read(file)
  const dir = join(context.io.env['HOME'] || homedir(), '.ssh')
  for (const name of OWN_KEYS) {
    const text = await read(join(dir, name)).catch(() => '')
    if (text !== '') return text
  }
  throw invalid('key', '', `there is none of ${OWN_KEYS.join(', ')} in ${dir}; name one with --key`)
}

async function written(path: string, text: string): Promise<void> {
  await writeFile(path, text).catch((error: unknown) => {
    throw invalid('out', path, writeTrouble(error, resolve(path)))
  })
}

async function revoke(
  context: CommandContext,
  serial: string | undefined,
  options: { certificate?: string; reason?: string },
): Promise<void> {
  context.deadline()
  const certificate =
    options.certificate === undefined ? '' : (await keyFile('certificate', options.certificate)).trim()
  const request = check('revokeCertificate', { serial: serial ?? '', certificate, reason: options.reason ?? '' })
  const answer = await (await context.fleet()).trust.revokeCertificate(request, { signal: context.signal })
  if (!answer.revoked) return
  if (answer.revoked.caFingerprint === '' && !context.json)
    context.note('No certificate with this serial was issued here; it is revoked for every CA of the tenant.')
  await context.answer(RevokedCertificateSchema, answer.revoked, () => revokedTable([answer.revoked!]))
}

const time = (at: Timestamp | undefined): string => (at ? timestampDate(at).toISOString().replace('.000Z', 'Z') : '')

const certificateTable = (rows: Certificate[]): string =>
  table(
    ['SERIAL', 'KIND', 'FOR', 'FROM', 'UNTIL', 'KEY ID'],
    rows.map((c) => [
      c.serial,
      c.kind,
      c.principals.join(','),
      time(c.validAfter),
      c.revokedAt ? 'revoked' : time(c.validBefore),
      c.keyId,
    ]),
  )

const certificateSheet = (c: Certificate): string =>
  sheet([
    ['serial', c.serial],
    ['kind', c.kind],
    ['for', c.principals.join(', ')],
    ['vm', c.vmId],
    ['from', time(c.validAfter)],
    ['until', time(c.validBefore)],
    ['issued', time(c.issuedAt)],
    ['revoked', time(c.revokedAt)],
    ['key', c.keyFingerprint],
    ['signed by', c.caFingerprint],
    ['key id', c.keyId],
  ])

const revokedTable = (rows: RevokedCertificate[]): string =>
  table(
    ['SERIAL', 'REVOKED', 'CA', 'REASON'],
    rows.map((r) => [r.serial, time(r.revokedAt), r.caFingerprint || 'every', r.reason]),
  )

const trustTable = (rows: VmTrust[], names: ReadonlyMap<string, string>): string => {
  const name = (fingerprint: string) => names.get(fingerprint) ?? fingerprint
  return table(
    ['VM', 'OPENED BY', 'HOST KEY BY', 'UNTIL', 'REVOCATIONS', 'WORD'],
    rows.map((vm) => [
      vm.vmName,
      vm.cutOff ? 'nobody' : vm.userCas.map(name).join(','),
      vm.hostCa === '' ? '–' : name(vm.hostCa),
      time(vm.hostCertificateEndsAt),
      vm.revocations || '–',
      vm.detail,
    ]),
  )
}
