import type { IncomingMessage } from 'node:http'
import { Fault } from '../../../ipc/faults.ts'
import { isId, isLogin, isName } from '../../../ipc/names.ts'

export interface TunnelRequest {
  /** Name or id. */
  vm: string
  port: number
  /** Empty = no login by certificate is wanted. */
  login: string
}

/** Of the query of a tunnel's upgrade. Raises input/invalid. */
export function tunnelRequest({ url }: Pick<IncomingMessage, 'url'>): TunnelRequest {
  const query = new URL(url ?? '/', 'http://eitri').searchParams
  const vm = query.get('vm') ?? ''
  const port = query.get('port') ?? ''
  const login = query.get('login') ?? ''
  if (!isName(vm) && !isId(vm)) throw invalid('vm', vm, 'a VM is asked for by its name or id')
  if (!isPort(port)) throw invalid('port', port, 'use 1 to 65535')
  if (login !== '' && !isLogin(login)) throw invalid('login', login, 'not a login name')
  return { vm, port: Number(port), login }
}

const isPort = (text: string): boolean => /^[1-9]\d{0,4}$/.test(text) && Number(text) <= 65_535
const invalid = (field: string, value: string, problem: string) =>
  new Fault('input/invalid', 'permanent', { field, value: value.slice(0, 80), problem })
