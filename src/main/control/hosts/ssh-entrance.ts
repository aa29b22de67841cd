import type { TaskContext } from '../tasks/task-context.ts'
import type { SshWay } from './enrol.ts'
import type { Door, Entrance } from './entrance.ts'
import { OpensshDoor } from './openssh-door.ts'
import type { SshDeps } from './openssh-way.ts'
import { readWay } from './ssh-way.ts'
import { Ssh2Door } from './ssh2-door.ts'

export const ENTRANCE_STEPS = ['Read config', 'Reach address', 'Check host key', 'Sign in']

/** The steps from a typed name to a signed-in connection. Raises the fault of the step that failed. */
export async function enterSshHost(
  deps: SshDeps,
  { tenant, way }: { tenant: string; way: SshWay },
  task: TaskContext,
): Promise<Entrance> {
  const read = await task.step('Read config', (step) => readWay(deps, way, task.signal, step))
  const entering = { deps, tenant, way, read, task }
  const { choice } = read
  let door: Door = choice.client === 'openssh' ? new OpensshDoor(entering, choice.detail) : new Ssh2Door(entering)
  try {
    await task.step('Reach address', async (step) => {
      door = await door.reach(step)
    })
    await task.step('Check host key', async (step) => {
      door = await door.checkKey(step)
    })
    return await task.step('Sign in', (step) => door.signIn(step))
  } catch (error) {
    door.leave()
    throw error
  }
}
