import { describe, expect, it } from 'vitest'
import { Labels } from '../../../../../src/main/control/support/labels.ts'
import { Redactor } from '../../../../../src/main/control/support/redactor.ts'

const redactor = () => {
  const labels = new Labels()
  labels.know('host', 'a'.repeat(32), 'rack2-07')
  labels.know('vm', 'b'.repeat(32), 'web-12', 'default.web-12')
  return new Redactor(labels)
}

describe('a sentence that leaves this computer', () => {
  it.each([
    [
      'keeps this app’s own words and numbers',
      'No answer (timed out after 30 s).',
      'No answer (timed out after 30 s).',
    ],
    ['names things by their labels, whatever they are called by', `rack2-07, ${'b'.repeat(32)}`, 'host-1, vm-1'],
    ['names a possessive too', 'rack2-07’s agent', 'host-1 agent'],
    [
      'has one label for one address',
      '10.0.2.7 then 10.0.2.8:22 then 10.0.2.7',
      'address-1 then address-2 then address-1',
    ],
    [
      'takes IPv6, MAC and DNS names for addresses',
      '[fd00::1]:22 52:54:00:12:34:56 a.lab.test',
      'address-1 address-2 address-3',
    ],
    ['splits who from where', 'ops@rack.lab.test', 'user-1@address-1'],
    [
      'loses words that came from elsewhere, several at once',
      'read hunter battery staple failed',
      'read [text] failed',
    ],
    ['loses what looks like a token', 'token=ghp_0123456789abcdef', '[secret]'],
    ['loses a key whole', 'key -----BEGIN X-----\nAAAA\n-----END X----- refused', 'key [secret] refused'],
    ['loses a key without an end', 'key -----BEGIN X-----\nAAAA BBBB', 'key [secret]'],
    ['keeps versions', 'agent 1.4.2 or 0.1.0-dev', 'agent 1.4.2 or 0.1.0-dev'],
    ['loses paths', 'read /home/ada/x.sock, ~/.ssh/id failed', 'read [path], [path] failed'],
    ['loses long numbers, which may be codes', 'code 493021', 'code [text]'],
    ['has labels for fingerprints and digests', `SHA256:abc ${'c'.repeat(64)}`, 'key-1 digest-1'],
  ])('%s', (_, text, told) => expect(redactor().sentence(text)).toBe(told))

  it('is bounded', () => {
    expect(redactor().sentence('failed '.repeat(1000)).length).toBeLessThan(2_100)
  })

  it('counts what it lost, by what it was', () => {
    const r = redactor()
    r.sentence('ops@10.0.0.1 said hunter about rack2-07 and abcdefghijklmnopqrst')
    expect(r.taken).toEqual({ address: 1, name: 1, secret: 1, text: 1, user: 1 })
  })
})

describe('values', () => {
  it('of a closed set stay, any other is text', () => {
    const r = redactor()
    expect([r.word('running', ['running']), r.word('hunter2', ['running']), r.word('', [])]).toEqual([
      'running',
      '[text]',
      'none',
    ])
  })

  it('that are no version are not told as one', () => {
    expect([redactor().version('1.2.3'), redactor().version('1.2.3; secret')]).toEqual(['1.2.3', '[text]'])
  })

  it('have the label of their first name', () => {
    const labels = new Labels()
    expect([labels.know('vm', 'id-1', 'web'), labels.know('vm', 'id-2', 'web'), labels.find('id-2')]).toEqual([
      'vm-1',
      'vm-1',
      'vm-1',
    ])
  })
})
