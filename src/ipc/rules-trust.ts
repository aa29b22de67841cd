import { z } from 'zod'
import { isLogin, isName, NAME_RULE } from './names.ts'
import { KiB } from './units.ts'

const empty = z.literal('')
const MOST = 2n ** 64n - 1n
const KEY_CHARS = 16 * KiB

const kind = z.enum(['host', 'user'], 'host or user')
const name = z.string().refine(isName, NAME_RULE)
const ref = z.string().min(1, 'name it').max(128, 'longer than any name')
const keyText = z.string().max(KEY_CHARS, 'longer than any key')
const publicText = keyText.refine(
  (text) => !/^PuTTY-User-Key-File|-----BEGIN [A-Z ]*PRIVATE KEY/.test(text),
  'that is the private key; give FILE.pub',
)

/** Of a certificate: a whole number of 64 bits as text, zero left out. */
const isSerial = (text: string): boolean => /^[1-9]\d{0,19}$/.test(text) && BigInt(text) <= MOST

const serial = z.union([empty, z.string().refine(isSerial, 'use a whole number from 1 to 18446744073709551615')])

/** Requests about SSH authorities and certificates. */
export const TRUST_RULES = {
  createCa: z.object({ kind, name, makeSigning: z.boolean(), ifAbsent: z.boolean() }),
  importCa: z.object({
    kind,
    name,
    privateKey: keyText,
    passphrase: z.string().max(1024, 'longer than any passphrase'),
    publicKey: publicText,
    makeSigning: z.boolean(),
    ifAbsent: z.boolean(),
  }),
  caRef: z.object({ ca: ref }),
  retireCa: z.object({ ca: ref, force: z.boolean() }),
  issueCertificate: z.object({
    vm: z.union([empty, ref]),
    publicKey: publicText.min(1, 'give the public key to certify'),
    login: z.string().refine(isLogin, 'use a login name, such as root or debian'),
  }),
  listCertificates: z.object({
    kind: z.union([empty, kind]),
    expired: z.boolean(),
    limit: z.number().int().min(0).max(1000, 'at most 1000'),
    serial,
  }),
  revokeCertificate: z
    .object({
      serial,
      certificate: publicText,
      reason: z
        .string()
        .max(200, 'at most 200 characters')
        .regex(/^[^\0-\x1f\x7f]*$/, 'control characters are not allowed'),
    })
    .refine((r) => r.serial !== '' || r.certificate !== '', {
      path: ['serial'],
      error: 'give the serial or the certificate',
    }),
} as const
