/** Questions for curves on their way at one time: a long list leaves the way free for what a person does. */
const AT_ONCE = 2

let open = 0
const waiting: (() => void)[] = []

/** Runs the work when its turn has come. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (open >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else open++
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next) next()
    else open--
  }
}
