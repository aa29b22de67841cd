import { problemsOf } from '../../../ipc/rules.ts'

/** Labels as a person writes them: `app=shop, prod`. Words are split at commas and ends of lines. */
export const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels).map(labelText).join(', ')

export const labelText = ([key, value]: readonly [string, string]): string => (value ? `${key}=${value}` : key)

export function parseLabels(text: string): Record<string, string> {
  const words = text
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')
  return Object.fromEntries(
    words.map((word): [string, string] => {
      const at = word.indexOf('=')
      return at < 0 ? [word, ''] : [word.slice(0, at).trim(), word.slice(at + 1).trim()]
    }),
  )
}

/** What is wrong with labels; undefined = nothing. */
export const labelsProblem = (labels: Readonly<Record<string, string>>): string | undefined =>
  problemsOf('allLabels', { labels })[0]?.problem
