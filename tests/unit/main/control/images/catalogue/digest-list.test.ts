import { describe, expect, it } from 'vitest'
import { digestIn, WEB_PAGE } from '../../../../../../src/main/control/images/catalogue/digest-list.ts'

const A = 'a1'.repeat(32)
const B = 'b2'.repeat(32)
const LONG = 'c3'.repeat(64)
const UBUNTU = `${A} *ubuntu-24.04-server-cloudimg-amd64.img
${B} *ubuntu-24.04-server-cloudimg-amd64-root.manifest
${B} *ubuntu-24.04-server-cloudimg-arm64.img
`
const DEBIAN = `${LONG}  debian-12-genericcloud-amd64.json
${LONG.replace('c', 'd')}  debian-12-genericcloud-amd64.qcow2
`

describe("a publisher's list of digests", () => {
  it('of Ubuntu marks binary files with a star', () =>
    expect(digestIn(UBUNTU, 'ubuntu-24.04-server-cloudimg-amd64.img', 'sha256')).toEqual({ digest: A }))

  it('of Debian has two blanks and SHA-512', () =>
    expect(digestIn(DEBIAN, 'debian-12-genericcloud-amd64.qcow2', 'sha512')).toEqual({
      digest: LONG.replace('c', 'd'),
    }))

  it.each([
    ['a web page of a network with a sign-in page', '<!DOCTYPE html><html>', WEB_PAGE],
    ['digests of another kind', UBUNTU.replaceAll(A, LONG), 'its line 1 is no SHA-256 of a file'],
    ['no such file', UBUNTU.replaceAll('amd64.img', 'riscv64.img'), 'it does not name'],
    ['a name that only begins the same', `${A} *ubuntu-24.04-server-cloudimg-amd64.img.old\n`, 'it does not name'],
    ['two digests for it', `${UBUNTU}${B} *ubuntu-24.04-server-cloudimg-amd64.img\n`, 'twice'],
    ['capital letters', UBUNTU.toUpperCase(), 'its line 1'],
    ['a line that is none', `${UBUNTU}-----BEGIN PGP SIGNATURE-----\n`, 'its line 4'],
    ['a path in a name', `${A} *../ubuntu-24.04-server-cloudimg-amd64.img\n`, 'its line 1'],
    ['carriage returns', UBUNTU.replaceAll('\n', '\r\n'), 'its line 1'],
    ['nothing at all', '', 'it does not name'],
    ['more lines than any release has', `${A} *x\n`.repeat(5_001), 'more than 5000 lines'],
  ])('is not believed with %s', (_, text, problem) =>
    expect(digestIn(text, 'ubuntu-24.04-server-cloudimg-amd64.img', 'sha256')).toEqual({
      problem: expect.stringContaining(problem),
    }),
  )

  it('may name it twice with one digest', () =>
    expect(digestIn(UBUNTU + UBUNTU, 'ubuntu-24.04-server-cloudimg-arm64.img', 'sha256')).toEqual({ digest: B }))
})
