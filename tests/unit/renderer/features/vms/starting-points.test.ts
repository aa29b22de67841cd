import { create } from '@bufbuild/protobuf'
import { describe, expect, it } from 'vitest'
import { TemplateSchema } from '../../../../../src/ipc/gen/eitri/fleet/v1/template_pb.js'
import { startingPoints } from '../../../../../src/renderer/features/vms/starting-points.ts'

const template = create(TemplateSchema, {
  ...{ id: 't1', name: 'web', description: 'nginx', image: 'debian-12', vcpus: 2, memMb: 2048, diskGb: 20 },
})

describe('starting points of a first VM', () => {
  it('are templates of the fleet first, then sizes of the default image, three in all', () => {
    const points = startingPoints([template], 'tiny')
    expect(points.map(({ title, text }) => [title, text])).toEqual([
      ['web', 'nginx · 2 vCPUs, 2 GB, 20 GB'],
      ['Small: to try something out', 'tiny · 1 vCPU, 512 MB, 10 GB'],
      ['Medium: a service of its own', 'tiny · 2 vCPUs, 2 GB, 20 GB'],
    ])
    expect(points[0]?.request).toEqual({ template: 'web' })
  })

  it('are none where there is no image to make one of', () => {
    expect(startingPoints([], '')).toEqual([])
  })
})
