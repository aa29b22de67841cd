import { describe, it, type TestOptions } from 'vitest'
import { sshHostImpossible } from './ssh-host.ts'

/** A suite that needs test hosts; where none can be made it is one skipped test that says why. */
export function describeHosts(title: string, options: TestOptions, body: () => void): void {
  const why = sshHostImpossible()
  if (why === undefined) describe(title, options, () => body())
  else
    describe(title, () => {
      it('needs hosts', ({ skip }) => skip(why))
    })
}
