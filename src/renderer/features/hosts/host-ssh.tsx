import type { ReactNode } from 'react'
import { fromConnectError } from '../../../ipc/fault-wire.ts'
import type { Host, ShowSshResponse } from '../../../ipc/gen/eitri/fleet/v1/host_pb.js'
import { cx } from '../../lib/class-names.ts'
import { useNow } from '../../state/now.ts'
import { Button } from '../../ui/button.tsx'
import { CopyButton, useCopied } from '../../ui/copy-text.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { Card, Facts } from '../../ui/page.tsx'
import { AuditList } from '../activity/audit-list.tsx'
import { forgetSecrets } from './actions.ts'
import { useHostSheets } from './host-sheets.tsx'
import { useShownSsh } from './queries.ts'
import { carrierWords, credentialWords, pinnedWords, secretsWords, sshRows, verifiedWords } from './ssh-view.ts'
import { offeredKey, ownerOf } from './view-model.ts'

/** The way to a host, the keys it is trusted by, and who may steer it. */
export function HostSsh({ host }: { host: Host }) {
  const ssh = useShownSsh(host)
  return (
    <>
      {host.kind === 'ssh' ? (
        <Resolved host={host} ssh={ssh.data} error={ssh.error} onAgain={() => void ssh.refetch()} />
      ) : (
        <Card title="Way">
          <Facts rows={[['Carried by', carrierWords(host)]]} />
        </Card>
      )}
      {host.kind === 'ssh' && <HostKeys host={host} ssh={ssh.data} />}
      <Access host={host} />
      {host.kind === 'ssh' && (
        <Card title="History of its keys and sign-ins">
          <AuditList host={host.id} limit={20} filter={({ action }) => TRUST_ACTIONS.has(action)} />
        </Card>
      )}
    </>
  )
}

const TRUST_ACTIONS: ReadonlySet<string> = new Set([
  ...['host.add', 'host.readmit', 'host.ssh', 'host.accept-key', 'host.take-over', 'host.taken-over'],
  ...['host.use-older-data', 'host.sign-in', 'host.forget-secrets', 'host.revoke'],
])

interface ResolvedProps {
  host: Host
  ssh: ShowSshResponse | undefined
  error: Error | null
  onAgain: () => void
}

function Resolved({ host, ssh, error, onAgain }: ResolvedProps) {
  const [copied, copy] = useCopied()
  return (
    <Card
      title="Resolved SSH"
      actions={
        ssh?.command && (
          <Button size="small" title={ssh.command} onClick={() => copy(ssh.command)}>
            {copied ? 'Copied' : 'Copy ssh command'}
          </Button>
        )
      }
    >
      {error && (
        <FaultNotice
          fault={fromConnectError(error).toData()}
          actions={
            <Button size="small" onClick={onAgain}>
              Try again
            </Button>
          }
        />
      )}
      {!error && !ssh && (
        <p role="status" className="text-faint">
          Reading how it is dialled…
        </p>
      )}
      {ssh && (
        <Facts
          rows={[
            ...sshRows(ssh)
              .filter(([label]) => label !== 'Carried by')
              .map(([label, value]): [string, ReactNode] => [label, <Mono key={label} text={value} />]),
            ['Carried by', [carrierWords(host), ssh.sshClientDetail].filter(Boolean).join(': ')],
          ]}
        />
      )}
    </Card>
  )
}

function HostKeys({ host, ssh }: { host: Host; ssh: ShowSshResponse | undefined }) {
  const sheets = useHostSheets()
  const offered = offeredKey(host)
  const keys = ssh?.hostKeys ?? []
  const others = keys.filter(({ fingerprint }) => fingerprint !== host.hostKeyFingerprint)
  const type = keys.find(({ fingerprint }) => fingerprint === host.hostKeyFingerprint)?.keyType
  return (
    <Card
      title="Host key"
      actions={
        offered && (
          <Button size="small" look="primary" onClick={() => sheets.compareKeys(host)}>
            Compare keys…
          </Button>
        )
      }
    >
      <Facts
        rows={[
          [
            'Fingerprint',
            host.hostKeyFingerprint ? (
              <Mono key="fingerprint" text={host.hostKeyFingerprint} copy {...(type ? { before: type } : {})} />
            ) : (
              'not known yet'
            ),
          ],
          ['Verified', ssh ? verifiedWords(host, keys) : 'reading…'],
          ...(offered
            ? ([
                [
                  'Answers with now',
                  <Mono key="offered" text={offered.fingerprint} before={offered.keyType} bad copy />,
                ],
              ] satisfies [string, ReactNode][])
            : []),
          ...others.map((key): [string, ReactNode] => [
            `Also trusted`,
            <Mono key={key.fingerprint} text={`${key.fingerprint}, ${pinnedWords(key)}`} before={key.keyType} />,
          ]),
        ]}
      />
    </Card>
  )
}

function Access({ host }: { host: Host }) {
  const now = useNow()
  const sheets = useHostSheets()
  const credential = credentialWords(host, now)
  const owner = ownerOf(host)
  const tone = { plain: '', warn: 'text-warn', bad: 'text-bad' }[credential.tone]
  return (
    <Card title="Credential, secrets and controllers">
      <Facts
        rows={[
          [
            'Credential',
            <Row key="credential" text={credential.text} className={tone}>
              {host.credential === 'key' && (
                <Button size="small" onClick={() => sheets.revoke(host)}>
                  Revoke…
                </Button>
              )}
            </Row>,
          ],
          ...(host.kind === 'ssh'
            ? ([
                [
                  'Secrets',
                  <Row key="secrets" text={secretsWords(host)}>
                    {host.secretsKept !== '' && (
                      <Button size="small" onClick={() => void forgetSecrets(host)}>
                        Forget
                      </Button>
                    )}
                  </Row>,
                ],
              ] satisfies [string, ReactNode][])
            : []),
          [
            'Controllers',
            <Row
              key="controllers"
              text={owner ?? `this app (epoch ${host.epoch})`}
              className={owner ? 'text-warn' : ''}
            >
              {(owner !== undefined || host.newerData) && (
                <Button size="small" look="primary" onClick={() => sheets.takeOver(host)}>
                  {owner === undefined ? "Use this app's data…" : 'Take over…'}
                </Button>
              )}
            </Row>,
          ],
        ]}
      />
    </Card>
  )
}

function Row({ text, className, children }: { text: string; className?: string; children: ReactNode }) {
  return (
    <span className="flex flex-wrap items-center gap-x-3 gap-y-1">
      <span className={cx('min-w-0', className)}>{text}</span>
      {children}
    </span>
  )
}

function Mono({ text, before, copy, bad }: { text: string; before?: string; copy?: boolean; bad?: boolean }) {
  return (
    <span className="flex flex-wrap items-start gap-x-1.5">
      {before && <span className="text-faint">{before}</span>}
      <code className={cx('break-all font-mono text-xs leading-5', bad && 'text-bad')}>{text}</code>
      {copy && <CopyButton text={text} label="Copy the fingerprint" />}
    </span>
  )
}
