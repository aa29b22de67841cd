import { describe, expect, it } from 'vitest'
import { installCommand, PACKAGE_MANAGERS } from '../../../src/ipc/packages.ts'

describe('the command that installs what is missing', () => {
  it.each(PACKAGE_MANAGERS)('%s brings QEMU and its disk tool for both processors, each package once', (manager) => {
    for (const machine of ['x86_64', 'aarch64']) {
      const words = installCommand(manager, ['qemu', 'qemu-img'], machine).split(' ')
      expect(words[0]).toBe(manager)
      expect(words.filter((word) => word.startsWith('qemu')).length).toBeGreaterThan(0)
      expect(new Set(words.slice(-2)).size).toBe(2)
    }
  })

  it('puts sudo before each program, not before the shell', () => {
    expect(installCommand('apt-get', ['nft'], 'x86_64', 'sudo ')).toBe(
      'sudo apt-get update && sudo apt-get install -y --no-install-recommends nftables',
    )
  })

  it('is empty where no manager is known or it has none of it', () => {
    expect(installCommand('emerge', ['qemu'], 'x86_64')).toBe('')
    expect(installCommand('brew', ['nft'], 'x86_64')).toBe('')
  })
})
