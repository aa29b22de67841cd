import { describe, expect, it } from 'vitest'
import { faultLine, faultText } from '../../src/ipc/fault-text.ts'
import { FAULT_CODES } from '../../src/ipc/faults.ts'

const BANNED =
  /something went wrong|unknown error|oops|\berror code\b|you (did|have|should have|must have|forgot|failed)|\bundefined\b|\bNaN\b|\[object|\n\s*at /i

describe('words of faults', () => {
  it.each(FAULT_CODES)('of %s are whole sentences without blame, codes or empty talk', (code) => {
    for (const params of [{}, { host: 'rack-1', vm: 'web-1', image: 'tiny', detail: 'port 22 timed out' }]) {
      const { what, effect, next } = faultText(code, params)
      expect(what).not.toBe('')
      expect(faultLine(code, params)).not.toMatch(BANNED)
      expect(faultLine(code, params)).not.toContain(code)
      // the one form a protocol of its own fixes
      if (code !== 'console/unavailable' && code !== 'vm/name-taken')
        expect(what).toMatch(/^["A-Z0-9].*\.$|^[a-z][\w.-]* .*\.$/)
      for (const sentence of [effect, next].filter(Boolean)) expect(sentence).toMatch(/\.$|[^.]$/)
    }
  })
})
