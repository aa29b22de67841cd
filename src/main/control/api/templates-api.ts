import { randomBytes } from 'node:crypto'
import { timestampFromDate } from '@bufbuild/protobuf/wkt'
import type { ServiceImpl } from '@connectrpc/connect'
import type { TemplateService } from '../../../ipc/gen/eitri/fleet/v1/template_pb.js'
import { check } from '../../../ipc/rules.ts'
import type { ImagesStore } from '../store/images-store.ts'
import type { TemplateRow, TemplatesStore } from '../store/templates-store.ts'
import { templateOf } from '../vms/template-plan.ts'
import { type OwnedVmDeps, ownedVm } from './owned-vm.ts'
import { principalOf } from './principal.ts'

export interface TemplatesApiDeps extends OwnedVmDeps {
  templates: TemplatesStore
  images: Pick<ImagesStore, 'findBySha256'>
}

/** Templates of the tenant that asks; their user-data is never shown. */
export function templatesApi(deps: TemplatesApiDeps): ServiceImpl<typeof TemplateService> {
  const { templates, images } = deps
  return {
    listTemplates: (_, context) => ({ templates: templates.list(principalOf(context).tenant).map(templateView) }),
    createTemplate: (request, context) => {
      const { tenant } = principalOf(context)
      const { name, vm: ref, description } = check('createTemplate', request)
      const known = request.ifAbsent ? templates.findByName(tenant, name) : undefined
      if (known) return { template: templateView(known), created: false }
      const vm = ownedVm(deps, tenant, ref)
      const made = templateOf(vm, images.findBySha256(vm.imageSha256)?.name ?? '')
      const row = templates.create(tenant, { id: randomBytes(16).toString('hex'), name, description, ...made })
      return { template: templateView(row), created: true }
    },
    removeTemplate: (request, context) => {
      templates.remove(principalOf(context).tenant, check('templateRef', request).template)
      return {}
    },
  }
}

const templateView = ({ id, name, description, spec, cloudInit, createdAt }: TemplateRow) => ({
  id,
  name,
  description,
  ...spec,
  cloudInitBytes: cloudInit.length,
  createdAt: timestampFromDate(createdAt),
})
