import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

const read = (path: string) => ({ path, text: readFileSync(join(ROOT, path), 'utf8') })
const answering = ['api', 'consoles', 'tunnels'].flatMap((part) => sourceFiles(`src/main/control/${part}`)).map(read)
const handlers = answering.filter(({ path }) => /\/api\/[a-z-]+-api\.ts$/.test(path))

const OF_ALL_TENANTS = /\.(listAll|findByIdentity)\(/
/** By id alone: a handler names things by the tenant that asks, as `resolve(tenant, …)`, `findIn(tenant, …)` and `list(tenant)` do. */
const OF_ANY_TENANT = /\b(hosts|vms|exposures|templates)\s*\.(find|get)\(/

/** What they answer is the same for every tenant, or about tenants themselves. */
const UNSCOPED = ['cloud-init-api', 'tenants-api']

describe('tenants', () => {
  it('nothing that answers reads the rows of all of them', () => {
    expect(answering.length).toBeGreaterThan(25)
    expect(answering.filter(({ text }) => OF_ALL_TENANTS.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('no handler finds a thing by its id alone', () => {
    expect(handlers.length).toBeGreaterThan(9)
    expect(handlers.filter(({ text }) => OF_ANY_TENANT.test(text)).map(({ path }) => path)).toEqual([])
  })

  it('every service asks who asks, but those whose answers are the same for all', () => {
    const services = handlers.filter(({ text }) => text.includes('ServiceImpl<typeof '))
    expect(services.length).toBeGreaterThan(9)
    const without = services.filter(({ text }) => !/principalOf\(|resolve\(request, context\)/.test(text))
    const names = without.map(({ path }) => path.replace(/^.*\/|\.ts$/g, ''))
    expect(names.filter((name) => !UNSCOPED.includes(name))).toEqual([])
  })

  it.each(['hosts.listAll()', 'deps.vms.listAll()', 'hosts.findByIdentity(key)'])('%s would be found', (text) => {
    expect(OF_ALL_TENANTS.test(text)).toBe(true)
  })

  it.each(['hosts.find(id)', 'deps.vms.get(id)', 'exposures.find(id)', 'stores.hosts\n  .get(id)'])(
    '%s would be found',
    (text) => {
      expect(OF_ANY_TENANT.test(text)).toBe(true)
    },
  )
})
