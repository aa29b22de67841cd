import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'

export interface OvaFile {
  name: string
  content: Buffer | string
  /** Type of the entry; absent = a plain file. */
  kind?: string
}

/** A tar of these, in order. */
export function tarOf(files: readonly OvaFile[]): Buffer {
  const parts = files.flatMap(({ name, content, kind = '0' }) => {
    const body = Buffer.from(content as string)
    const header = Buffer.alloc(512)
    header.write(name.slice(0, 100), 0)
    header.write('0000644\0', 100)
    header.write(`${body.length.toString(8).padStart(11, '0')}\0`, 124)
    header.write('        ', 148)
    header.write(kind, 156)
    header.write('ustar\x0000', 257)
    const sum = header.reduce((total, byte) => total + byte, 0)
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return Buffer.concat([...parts, Buffer.alloc(1024)])
}

export interface OvfChange {
  href?: string
  cpus?: string
  memory?: string
  unit?: string
  /** More of the disk section, of the references, of the file. */
  disks?: string
  files?: string
  file?: string
  systems?: string
  disk?: string
}

/** An OVF as VirtualBox and VMware write them. */
export const ovfOf = (change: OvfChange = {}): string => `<?xml version="1.0" encoding="UTF-8"?>
<!-- made for a test -->
<ovf:Envelope xmlns:ovf="http://schemas.dmtf.org/ovf/envelope/1" xmlns:rasd="http://schemas.dmtf.org/wbem/wscim/1/cim-schema/2/CIM_ResourceAllocationSettingData">
  <ovf:References><ovf:File ovf:href="${change.href ?? 'disk1.vmdk'}" ovf:id="file1" ${change.file ?? ''}/>${change.files ?? ''}</ovf:References>
  <ovf:DiskSection><ovf:Info>disks</ovf:Info>
    <ovf:Disk ovf:capacity="1" ovf:capacityAllocationUnits="byte * 2^30" ovf:diskId="vmdisk1" ovf:fileRef="file1" ${change.disk ?? ''}/>${change.disks ?? ''}
  </ovf:DiskSection>
  <ovf:VirtualSystem ovf:id="vm">
    <ovf:VirtualHardwareSection>
      <ovf:Item><rasd:InstanceID>1</rasd:InstanceID><rasd:ResourceType>3</rasd:ResourceType><rasd:VirtualQuantity>${change.cpus ?? '2'}</rasd:VirtualQuantity></ovf:Item>
      <ovf:Item><rasd:AllocationUnits>${change.unit ?? 'byte * 2^20'}</rasd:AllocationUnits><rasd:ResourceType>4</rasd:ResourceType><rasd:VirtualQuantity>${change.memory ?? '192'}</rasd:VirtualQuantity></ovf:Item>
    </ovf:VirtualHardwareSection>
  </ovf:VirtualSystem>${change.systems ?? ''}
</ovf:Envelope>
`

/** An OVA with this disk, and a manifest when asked for. */
export function writeOva(file: string, disk: Buffer, { manifest = false, ovf = ovfOf() } = {}): void {
  const digest = createHash('sha256').update(disk).digest('hex')
  const files: OvaFile[] = [{ name: 'vm.ovf', content: ovf }]
  if (manifest) files.push({ name: 'vm.mf', content: `SHA256(disk1.vmdk)= ${digest}\n` })
  files.push({ name: 'disk1.vmdk', content: disk })
  writeFileSync(file, tarOf(files))
}
