import { useInfo } from '../../api/queries.ts'
import { hrefOf } from '../../routes.ts'
import { useTasks } from '../../state/use-fleet.ts'
import { buttonClass } from '../../ui/button.tsx'
import { FaultNotice } from '../../ui/fault-notice.tsx'
import { TaskSteps } from '../tasks/task-steps.tsx'
import { isOpen, taskFault } from '../tasks/view-model.ts'
import { BuildButtons } from './build-buttons.tsx'
import { CatalogueOffers } from './catalogue-offers.tsx'
import { imageTask } from './view-model.ts'

/** Stands where a VM is wanted and there is no image yet: the quickest one is built on the spot. */
export function FirstImage() {
  const { data: info } = useInfo()
  const task = imageTask(useTasks())
  const fault = task && taskFault(task)
  const possible = info?.buildTinyPossible !== false
  return (
    <section aria-label="An image is needed first" className="rounded-lg border border-line bg-panel p-5">
      <h2 className="font-semibold text-base">A VM needs an image, and there is none yet</h2>
      <p className="mt-1 text-dim">
        {possible
          ? 'The tiny image is built on this computer in under a minute and boots in seconds: a kernel, a shell and SSH. Debian 12 takes a few minutes and is a whole system; cloud images are fetched from their publishers. The first becomes the default.'
          : info?.buildTinyDetail}
      </p>
      {task && isOpen(task) ? (
        <TaskSteps task={task} />
      ) : (
        <div className="mt-3 flex flex-wrap gap-2">
          <BuildButtons look="primary" />
          <CatalogueOffers />
          <a href={hrefOf({ page: 'images' })} className={buttonClass('plain')}>
            Add another image
          </a>
        </div>
      )}
      {fault && (
        <div className="mt-3">
          <FaultNotice fault={fault} />
        </div>
      )}
    </section>
  )
}
