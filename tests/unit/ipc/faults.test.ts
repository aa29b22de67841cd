import { Code, ConnectError } from '@connectrpc/connect'
import { describe, expect, it } from 'vitest'
import { faultLine, faultText, printable } from '../../../src/ipc/fault-text.ts'
import { fromConnectError, toConnectError } from '../../../src/ipc/fault-wire.ts'
import { asFault, FAULT_CODES, Fault, faultFromData, findFault } from '../../../src/ipc/faults.ts'

describe('faults', () => {
  it('are found through wrapping', () => {
    const fault = new Fault('vmm/missing', 'permanent')
    const wrapped = new Error('create failed', { cause: new Error('preflight', { cause: fault }) })
    expect(findFault(wrapped)).toBe(fault)
  })

  it('turn an abort into a cancellation and anything unknown into a bug that keeps its message', () => {
    expect(asFault(new DOMException('stop', 'AbortError')).disposition).toBe('cancelled')
    const bug = asFault(new TypeError('x is not a function'))
    expect([bug.code, bug.params['message']]).toEqual(['app/bug', 'x is not a function'])
  })

  it('cross the wire with code, disposition, params, advice and id', () => {
    const fault = new Fault('host/unreachable', 'transient', { address: 'a:22' }, { retryAfterMs: 1500 })
    const back = fromConnectError(toConnectError(fault))
    expect(back.toData()).toEqual(fault.toData())
  })

  it('take the ConnectRPC code that scripts expect', () => {
    const code = (fault: Fault) => toConnectError(fault).code
    expect(code(new Fault('vm/not-found', 'permanent'))).toBe(Code.NotFound)
    expect(code(new Fault('vm/name-taken', 'conflict'))).toBe(Code.AlreadyExists)
    expect(code(new Fault('input/invalid', 'permanent'))).toBe(Code.InvalidArgument)
    expect(code(new Fault('vm/deleted', 'permanent'))).toBe(Code.FailedPrecondition)
  })

  it('a code from a newer build is shown by name instead of being lost', () => {
    const back = faultFromData({ code: 'moon/full', disposition: 'permanent', params: {}, id: 'x' })
    expect([back.code, back.disposition, back.params['message']]).toEqual([
      'app/bug',
      'permanent',
      'unknown fault moon/full',
    ])
  })

  it('say that the other side is not there when the call got no answer', () => {
    expect(fromConnectError(new ConnectError('refused', Code.Unavailable)).code).toBe('app/not-running')
    expect(fromConnectError(new ConnectError('late', Code.DeadlineExceeded)).code).toBe('app/timeout')
  })
})

describe('fault text', () => {
  it.each(FAULT_CODES)('%s says what happened in a sentence, with and without params', (code) => {
    for (const params of [{}, { host: 'rack', vm: 'web', detail: 'why' }]) {
      const { what } = faultText(code, params)
      expect(what).toMatch(/[.]$/)
      expect(what).not.toMatch(/undefined|something went wrong|unknown error|oops/i)
    }
  })

  it('is one line for the command line', () => {
    expect(faultLine('vm/name-taken', { vm: 'web' })).toBe(
      'vm name already in use: web. Nothing was changed. Choose another name.',
    )
  })

  it('strips escapes and direction overrides out of what a host says', () => {
    expect(printable('a\x1b[31mred\x1b[0m\u202egnp.exe\r\n')).toBe('ared gnp.exe')
    expect(faultLine('vm/exited', { vm: 'web', detail: 'bad\x1b]0;title\x07' })).not.toMatch(/\p{Cc}/u)
  })
})
