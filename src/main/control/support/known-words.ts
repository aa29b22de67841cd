import { faultText } from '../../../ipc/fault-text.ts'
import { FAULT_CODES } from '../../../ipc/faults.ts'

/** Words of sentences that agents and this control plane make, beyond those of faults. */
const OTHERS = `
a about above accepted accounts address addresses after again agent agents all allowed allows an and another answer answered
answering answers any app application are arguments as ask asked asking asks at attempt authorities authority available away back backup
bad because been before begun behind being beyond bind boot booted booting both bridge broken but by bytes cache cached can
cancelled cannot certificate certificates changed check checked checking child cloned closed code command commands
configuration connect connected connecting connection connections console context control copied copy core could counted cpu crashed create
created creating data database date day days dead default degraded delete deleted denied destroyed device dhcp dial dialled did
different digest directory disk disks dnsmasq do does domain done down download downloaded downloading drive drop dropped each earlier
eio emulation enabled ended ending ends enospc epoch error errors every exec exit exited expected expired failed fails fault
feature file files filesystem finished first folder for forget forward found free from full gave gone group growing guest guests had
half handshake has have held helper here hold holds host hosts hour hours hypervisor i if ignored image images in
incomplete input installed instead interface into invalid io ip is it its itself joined keep keeps kept kernel key keys kill killed known kvm
last late later layer least lease leave left length less limit line lines link linux list listen listening local lock log login longer lost low
machine made make memory message method microseconds migration min minutes missing monitor more most mount moved ms name named names nat network networks never newer
newest next nftables no nobody none not nothing now number of off offered offset old older on once one only open opened or order other
out over overlay own page part password path paused pending per permission permitted pid plane policy poll port ports power powered
process program programs proxy public published put qemu quarantine queue quit raised ram range read reading ready reason reboot rebooted rebuilt received
refused register removed renamed repeated replaced report reported reports request requests reset resolve resolved response
restart restarted restored resume resumed retry right root route row rows rule run running runs said same saved schema seconds seed sees
send sending sent serial server service session sessions set settings shared short shut shutdown sigkill signal sigterm since size slow
socket some soon space ssh sshd stale start started starting starts state stop stopped stopping stops storage store stream subnet sudo superseded
suspended switched synchronised system systemd table taken takes task tasks tcg tcp template than that the them then there they this through time timed
times to told too took tried tries trust trusted try turned two type udp unexpected unit unknown unmanaged unreachable until up
update upgrade uploaded uplink used user uses using valid value version version virtual vm vms vmm wait waited waiting waits wakes warned was while
whole will with within without woke work worker works write writing written wrong yet you your zero
add host update rename drain take over adopt stop start purge undelete publish unpublish build import push collect mcp call export retention
`
  .split(/\s+/)
  .filter(Boolean)

const letters = (text: string): string[] => text.toLowerCase().match(/[a-z]+/g) ?? []

let words: ReadonlySet<string> | undefined

/** Words this app's own sentences are made of, lower case. Any other word of a sentence came from elsewhere. */
export function knownWords(): ReadonlySet<string> {
  words ??= new Set([
    ...OTHERS,
    ...FAULT_CODES.flatMap((code) => {
      const { what, effect, next } = faultText(code, {})
      return letters(`${code} ${what} ${effect} ${next}`)
    }),
  ])
  return words
}
