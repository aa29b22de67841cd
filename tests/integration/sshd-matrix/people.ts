import { randomBytes } from 'node:crypto'
import type { Answer, Question } from '../../../src/main/control/tasks/task-context.ts'
import type { SshHost } from '../../support/ssh-host.ts'
import { totp } from '../../support/totp.ts'

/** Of every login made here. */
export const PASSWORD = randomBytes(9).toString('base64url')
const SECRET = 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'

/** A login with this shell and the rig's key, who may steer the agent. Idempotent. */
export async function aLogin(host: SshHost, name: string, shell = '/bin/bash', bashrc = ''): Promise<void> {
  const script = `
id ${name} >/dev/null 2>&1 || useradd -m -s ${shell} -G eitri ${name}
mkdir -p /home/${name}/.ssh && cp /root/.ssh/authorized_keys /home/${name}/.ssh/ && chown -R ${name}: /home/${name}/.ssh
echo '${name}:${PASSWORD}' | chpasswd -c SHA256 -s 1000
cat >/home/${name}/.bashrc`
  await host.must(['sh', '-c', script], { input: bashrc })
}

/** A login with a code of a token, and a PAM service that asks for it. */
export async function aTokenLogin(host: SshHost, name: string, pam: string, withPassword: boolean): Promise<void> {
  await aLogin(host, name)
  const stack = [
    ...(withPassword ? ['auth requisite pam_unix.so'] : []),
    'auth required pam_google_authenticator.so',
    'account required pam_permit.so',
    'session required pam_permit.so',
  ]
  const script = `
printf '%s\\n" TOTP_AUTH\\n" WINDOW_SIZE 17\\n' ${SECRET} >/home/${name}/.google_authenticator
chown ${name}: /home/${name}/.google_authenticator && chmod 0400 /home/${name}/.google_authenticator
cat >/etc/pam.d/${pam}`
  await host.must(['sh', '-c', script], { input: `${stack.join('\n')}\n` })
}

/** What a person with the token types. */
export const code = (question: Question): Answer => {
  if (question.kind !== 'prompt' || !/code/i.test(question.prompt))
    throw new Error(`no code: ${JSON.stringify(question)}`)
  return { secret: totp(SECRET) }
}

export const password = (question: Question): Answer => {
  if (question.kind !== 'secret' || question.what !== 'password')
    throw new Error(`no password: ${JSON.stringify(question)}`)
  return { secret: PASSWORD }
}
