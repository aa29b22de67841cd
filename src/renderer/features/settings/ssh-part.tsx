import { useInfo } from '../../api/queries.ts'
import { plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useHosts } from '../../state/use-fleet.ts'
import { Button, buttonClass } from '../../ui/button.tsx'
import { CopyButton } from '../../ui/copy-text.tsx'
import { forgetSecrets } from '../hosts/actions.ts'
import { Reading } from './confirm.tsx'
import { Setting, SettingGroup, Told } from './setting.tsx'

export function SshPart() {
  const { data: info, isError, refetch } = useInfo()
  if (!info)
    return (
      <SettingGroup title="SSH on this computer">
        <Reading what="The SSH of this computer" failed={isError} onAgain={() => void refetch()} />
      </SettingGroup>
    )
  const { ssh, sshConfigHosts } = info
  return (
    <>
      <SettingGroup
        title="SSH on this computer"
        about="What your own ssh uses is used here: nothing of it is copied or changed."
      >
        <Setting
          id="config"
          label="Configuration"
          hint={
            ssh?.configPath
              ? `${plural(sshConfigHosts.length, 'host')} in it can be picked by name. What it says of one is asked of ssh when you pick it.`
              : 'There is none. Hosts are added by user, address and port.'
          }
        >
          {ssh?.configPath ? (
            <>
              <Told mono>{ssh.configPath}</Told>
              <CopyButton text={ssh.configPath} label="Copy the path" />
            </>
          ) : (
            <Told>None</Told>
          )}
        </Setting>
        <Setting
          id="client"
          label="Client"
          hint="Carries hosts that need certificates of people, hardware keys, Kerberos or a ProxyCommand."
        >
          <Told>
            {ssh?.clientVersion ? `OpenSSH ${ssh.clientVersion}`.replace('OpenSSH another', 'Another') : 'None found'}
          </Told>
        </Setting>
        <Setting label="Agent" hint={agentWords(ssh?.agentSocket ?? '', ssh?.agentKeys ?? 0)}>
          <Told mono>{ssh?.agentSocket || 'None in the environment'}</Told>
        </Setting>
        <Setting
          label="Keychain"
          hint={
            ssh?.keychain
              ? 'Secrets you ask to keep are sealed in it.'
              : 'None can be used here: secrets stay in memory until the app ends.'
          }
        >
          <Told>{ssh?.keychain ? 'The one of this desktop' : 'None'}</Told>
        </Setting>
      </SettingGroup>
      <ConfigHosts names={sshConfigHosts} />
      <Secrets />
    </>
  )
}

function agentWords(socket: string, keys: number): string {
  if (socket === '') return 'Keys are read from their files, and passphrases asked for.'
  return keys === 0 ? 'It holds no key, or does not answer.' : `It holds ${plural(keys, 'key')}.`
}

function ConfigHosts({ names }: { names: readonly string[] }) {
  const hosts = useHosts()
  if (names.length === 0) return null
  const added = new Set(hosts.map(({ name }) => name))
  return (
    <SettingGroup title="Hosts in your configuration">
      <ul
        className="grid max-h-56 gap-x-6 overflow-y-auto py-2 sm:grid-cols-2"
        aria-label="Hosts in your configuration"
      >
        {names.map((name) => (
          <li key={name} className="flex h-7 items-center justify-between gap-3">
            <span className="truncate">{name}</span>
            <span className="text-faint text-xs">{added.has(name) ? 'in the fleet' : ''}</span>
          </li>
        ))}
      </ul>
      <div className="py-3">
        <a href={hrefOf({ page: 'add-host', taskId: '' })} className={buttonClass('plain', 'small')}>
          Add a host
        </a>
      </div>
    </SettingGroup>
  )
}

const PLACES: Record<string, string> = { memory: 'In memory, until the app ends', keychain: 'In the keychain' }

function Secrets() {
  const keeping = useHosts().filter((host) => host.secretsKept !== '')
  return (
    <SettingGroup
      title="Kept passwords and passphrases"
      about="In the clear they are on no disk, in no backup and in no log."
    >
      {keeping.length === 0 ? (
        <p id="secrets" className="py-3 text-dim">
          None is kept.
        </p>
      ) : (
        keeping.map((host, i) => (
          <Setting
            key={host.id}
            {...(i === 0 ? { id: 'secrets' } : {})}
            label={host.name}
            hint={PLACES[host.secretsKept] ?? host.secretsKept}
          >
            <Button
              size="small"
              aria-label={`Forget the secrets of ${host.name}`}
              onClick={() => void forgetSecrets(host)}
            >
              Forget
            </Button>
          </Setting>
        ))
      )}
    </SettingGroup>
  )
}
