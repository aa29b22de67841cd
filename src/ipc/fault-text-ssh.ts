import { host, NOTHING, or, type P, t, v, why } from './fault-parts.ts'

/** What was tried and what the server would take. */
function refusal(p: P): string {
  const said = [
    ...(p['methods'] ? [`tried ${v(p, 'methods')}`] : []),
    ...(p['offered'] ? [`it takes ${v(p, 'offered')}`] : []),
    ...(p['detail'] ? [v(p, 'detail')] : []),
  ]
  return said.length > 0 ? ` (${said.join('; ')})` : ''
}

/** Words of `ssh/*`. */
export const SSH_TEXT = {
  'ssh/host-key-unknown': (p: P) =>
    t(
      `${host(p)} has a host key nobody here has accepted: ${v(p, 'fingerprint')}.`,
      'Nothing was sent.',
      'Compare it on the host, then accept it with --accept-host-key.',
    ),
  'ssh/host-key-changed': (p: P) =>
    t(
      `${host(p)} answered with a different host key: ${v(p, 'fingerprint')}, known was ${v(p, 'known')}.`,
      'We did not sign in. Its VMs keep running.',
      'If this host was rebuilt, compare the fingerprint on its own screen, then accept the new key.',
    ),
  'ssh/host-key-revoked': (p: P) =>
    t(
      `The host key of ${host(p)} is marked revoked.`,
      'We did not sign in.',
      'Do not connect; find out who revoked it.',
    ),
  'ssh/host-certificate': (p: P) =>
    t(
      `The certificate that ${host(p)} shows for its host key does not count${why(p)}.`,
      'We did not sign in. Its VMs keep running.',
      'Have it renewed by the authority that known_hosts trusts for this host.',
    ),
  'ssh/auth-refused': (p: P) =>
    t(
      `${or(p['address'], host(p))} refused the sign-in${refusal(p)}.`,
      NOTHING,
      'Check the user, the key or the password.',
    ),
  'ssh/key-unreadable': (p: P) =>
    t(`The key file ${v(p, 'file')} cannot be used${why(p)}.`, NOTHING, 'Give another key with --identity.'),
  'ssh/passphrase-wrong': (p: P) =>
    t(
      `The passphrase of ${v(p, 'file')} is wrong or missing.`,
      NOTHING,
      'Give it with --password-stdin, or load the key into ssh-agent.',
    ),
  'ssh/sudo-refused': (p: P) =>
    t(
      `sudo on ${host(p)} refused${why(p)}.`,
      NOTHING,
      or(p['next'], 'Check the sudo password, or add the host without sudo.'),
    ),
  'ssh/config-invalid': (p: P) =>
    t(`ssh cannot read its configuration for ${host(p)}${why(p)}.`, NOTHING, 'Mend the line it names.'),
  'ssh/unsupported': (p: P) =>
    t(
      `${host(p)} needs ${or(p['need'], 'an SSH feature')} that is not supported yet.`,
      NOTHING,
      or(p['next'], 'Use a plain key or password for this host.'),
    ),
  'ssh/protocol': (p: P) =>
    t(`The SSH connection to ${host(p)} broke${why(p)}.`, 'Its VMs keep running.', 'It is tried again by itself.'),
  'ssh/lost': (p: P) =>
    t(`The connection to ${host(p)} was lost${why(p)}.`, 'Its VMs keep running.', 'It is tried again by itself.'),
  'ssh/code-needed': (p: P) =>
    t(
      `${or(p['address'], host(p))} asks for "${or(p['prompt'], 'an answer')}" at the sign-in${why(p)}.`,
      'Nobody was there to answer; its VMs keep running.',
      `Sign in to it in the window, or in a terminal with "eitri host sign-in ${or(p['host'], 'NAME')}".`,
    ),
  'ssh/not-now': (p: P) =>
    t(
      `${host(p)} takes no sign-in at the moment${why(p)}.`,
      'Its VMs keep running.',
      'It is tried again by itself once added.',
    ),
  'ssh/no-shell': (p: P) =>
    t(
      `${or(p['address'], host(p))} does not run the commands it is sent${why(p)}.`,
      NOTHING,
      'Use a login with a shell and without a fixed command, or make that command "eitri-agent rpc --stdio".',
    ),
  'ssh/sessions-refused': (p: P) =>
    t(
      `${host(p)} opens no further session on this connection (MaxSessions)${why(p)}.`,
      NOTHING,
      or(p['next'], 'Allow one session more in its sshd_config.'),
    ),
}
