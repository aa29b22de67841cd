import { spawnSync } from 'node:child_process'

/** Reads texts as the guest does, and says of each: refused, or what SafeLoader makes of it. */
const PROGRAM = `
import sys, json, math, datetime, yaml
def tree(v):
    if v is None: return 'nothing'
    if isinstance(v, bool): return 'truth ' + str(v).lower()
    if isinstance(v, int): return 'number ' + str(v)
    if isinstance(v, float):
        if math.isnan(v): return 'number NaN'
        if math.isinf(v): return 'number Infinity' if v > 0 else 'number -Infinity'
        return 'number ' + (str(int(v)) if v == int(v) else repr(v))
    if isinstance(v, str): return 'text ' + json.dumps(v)
    if isinstance(v, bytes): return 'bytes'
    if isinstance(v, (datetime.date, datetime.datetime)): return 'date'
    if isinstance(v, (list, tuple)): return [tree(x) for x in v]
    if isinstance(v, set): return {'set': len(v)}
    return {'map': [[tree(k), tree(x)] for k, x in v.items()]}
answers = []
for text in json.load(sys.stdin):
    try: answers.append({'tree': tree(yaml.safe_load(text))})
    except Exception as e:
        mark = getattr(e, 'problem_mark', None)
        answers.append({'refused': type(e).__name__ + ': ' + str(getattr(e, 'problem', e)), 'line': mark.line + 1 if mark else 0})
json.dump(answers, sys.stdout)
`

export type PyAnswer = { tree: unknown } | { refused: string; line: number }

/** Debian's own PyYAML, the one cloud-init imports there. */
export function askPyYaml(texts: readonly string[]): PyAnswer[] {
  const { status, stdout, stderr } = spawnSync('/usr/bin/python3', ['-c', PROGRAM], {
    input: JSON.stringify(texts),
    encoding: 'utf8',
    maxBuffer: 256 * 1024 * 1024,
    timeout: 60_000,
  })
  if (status !== 0) throw new Error(`python3 with yaml does not run: ${stderr}`)
  return JSON.parse(stdout) as PyAnswer[]
}
