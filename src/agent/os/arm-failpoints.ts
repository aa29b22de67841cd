import { FAILPOINTS, type Failpoint, onHit, type Phase, phasesOf } from './failpoints.ts'
import { noteHit } from './files.ts'
import { endSelf } from './process.ts'

/**
 * Makes this process die by SIGKILL at `EITRI_FAILPOINT=name:phase[:nth]`, and write each place's first hit to the file
 * in `EITRI_FAILPOINT_LOG`. Without them it does nothing. Raises Error for a place that is not in the code.
 */
export function armFailpoints(env: NodeJS.ProcessEnv): void {
  const [wish, log] = [env['EITRI_FAILPOINT'], env['EITRI_FAILPOINT_LOG']]
  if (wish === undefined && log === undefined) return
  const target = wish === undefined ? undefined : parseWish(wish)
  const seen = new Set<string>()
  let hits = 0
  onHit((point, phase) => {
    const place = `${point}:${phase}`
    if (log !== undefined && !seen.has(place)) noteHit(log, `${place}\n`)
    seen.add(place)
    if (target?.point === point && target.phase === phase && ++hits === target.nth) endSelf()
  })
}

function parseWish(wish: string): { point: Failpoint; phase: Phase; nth: number } {
  const [name, at = 'before', count = '1'] = wish.split(':')
  const point = FAILPOINTS.find((known) => known === name)
  const phase = point && phasesOf(point).find((known) => known === at)
  const nth = Number(count)
  if (!point || !phase || !Number.isSafeInteger(nth) || nth < 1) throw new Error(`no failpoint ${wish}`)
  return { point, phase, nth }
}
