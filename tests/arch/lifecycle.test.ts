import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from '@swc/core'
import { describe, expect, it } from 'vitest'
import { ROOT, sourceFiles } from './source-files.ts'

const FOLDERS = ['src/agent', 'src/main/control/store', 'src/main/control/sync']

/** Whether a syntax tree reads a property named lifecycle: `a.lifecycle`, `a['lifecycle']` or `const { lifecycle } = a`. */
function readsLifecycle(node: unknown): boolean {
  if (Array.isArray(node)) return node.some(readsLifecycle)
  if (typeof node !== 'object' || node === null) return false
  const { type, property, properties } = node as Record<string, any>
  if (type === 'MemberExpression' && (property.value ?? property.expression?.value) === 'lifecycle') return true
  const keys = type === 'ObjectPattern' ? properties.map((each: any) => each.key?.value) : []
  return keys.includes('lifecycle') || Object.values(node).some(readsLifecycle)
}

const reads = (code: string) => readsLifecycle(parseSync(code, { syntax: 'typescript', target: 'es2024' }))

function readersIn(files: readonly string[]): string[] {
  if (files.length === 0) throw new Error('no file was looked at')
  return files.filter((path) => reads(readFileSync(join(ROOT, path), 'utf8')))
}

describe('lifecycle, a word for clients', () => {
  it('is read nowhere in the agent, the store and the sync', () => {
    for (const folder of FOLDERS) expect(readersIn(sourceFiles(folder))).toEqual([])
  })

  it('is not held to be read nowhere because nothing was looked at', () => {
    expect(() => readersIn([])).toThrow('no file was looked at')
  })

  it.each([
    'export const a = (vm: any) => vm.lifecycle',
    "export const a = (vm: any) => vm?.['lifecycle']",
    'export function a({ lifecycle }: any) { return lifecycle }',
    'export function a(vm: any) { const { lifecycle: word } = vm; return word }',
  ])('is found when read as in: %s', (code) => {
    expect(reads(code)).toBe(true)
  })

  it('may be written, and named in types', () => {
    expect(
      reads("import type { Lifecycle } from './lifecycle.ts'\nexport const a = (l: Lifecycle) => ({ lifecycle: l })"),
    ).toBe(false)
  })
})
