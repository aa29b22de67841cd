import type { Image } from '../../../ipc/gen/eitri/fleet/v1/image_pb.js'
import { formatBytes, formatGib, formatMemory, plural } from '../../lib/format.ts'
import { hrefOf } from '../../routes.ts'
import { useFleet, useHosts, useVms } from '../../state/use-fleet.ts'
import { CopyText } from '../../ui/copy-text.tsx'
import { Facts } from '../../ui/page.tsx'
import { Part } from '../details/details-parts.tsx'
import { formatText, trustedBy, usersOf } from './view-model.ts'

const NAMED = 12

/** One image in the drawer: what it is, why its digest is believed, where it is and who is made of it. */
export function ImageDetails({ id }: { id: string }) {
  const image = useFleet((f) => f.images.get(id))
  if (!image) return null
  return (
    <div className="grid gap-4">
      {image.description && <p className="text-dim">{image.description}</p>}
      <Facts rows={factsOf(image)} />
      <Part title="SHA-256">
        <CopyText text={image.sha256} label="Copy the digest" />
        <p className="mt-1.5 break-words text-dim text-xs">
          {trustedBy(image).how} Every host checks its bytes against it.
        </p>
      </Part>
      <Cached image={image} />
      <Users image={image} />
    </div>
  )
}

const factsOf = (image: Image): [string, string][] => [
  ...(image.os ? [['System', image.os] satisfies [string, string]] : []),
  ['Made for', image.arch],
  ['Format', formatText(image)],
  ['Disk of a guest', image.virtualBytes === undefined ? 'not known' : formatBytes(image.virtualBytes)],
  ['File', image.sizeBytes === undefined ? 'not known before the first download' : formatBytes(image.sizeBytes)],
  ['Comes from', image.url || 'this computer, which sends it to hosts'],
  ['A VM gets', sizesText(image)],
]

function sizesText({ defaultVcpus, defaultMemMb, defaultDiskGb }: Image): string {
  if (defaultMemMb === 0) return 'the sizes of the form'
  return `${plural(defaultVcpus || 1, 'vCPU')}, ${formatMemory(defaultMemMb)}, ${formatGib(defaultDiskGb)} unless said otherwise`
}

function Cached({ image }: { image: Image }) {
  const hosts = useHosts().filter((host) => image.cachedOn.includes(host.id))
  return (
    <Part title={hosts.length === 0 ? 'On no host yet' : `On ${plural(hosts.length, 'host')}`}>
      <ul className="flex flex-wrap gap-x-3 gap-y-1">
        {hosts.map((host) => (
          <li key={host.id}>
            <a className="text-accent hover:underline" href={hrefOf({ page: 'host', id: host.id, tab: 'storage' })}>
              {host.name}
            </a>
          </li>
        ))}
      </ul>
    </Part>
  )
}

function Users({ image }: { image: Image }) {
  const users = usersOf(image, useVms())
  return (
    <Part title={users.length === 0 ? 'No VM is made of it' : `${plural(users.length, 'VM')} made of it`}>
      <ul className="flex flex-wrap gap-x-3 gap-y-1">
        {users.slice(0, NAMED).map((vm) => (
          <li key={vm.id}>
            <a className="text-accent hover:underline" href={hrefOf({ page: 'vm', id: vm.id, tab: 'overview' })}>
              {vm.name}
            </a>
          </li>
        ))}
        {users.length > NAMED && (
          <li>
            <a className="text-accent hover:underline" href={hrefOf({ page: 'vms', filter: `image:${image.name}` })}>
              and {users.length - NAMED} more
            </a>
          </li>
        )}
      </ul>
    </Part>
  )
}
